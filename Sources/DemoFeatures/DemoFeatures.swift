public import Waypost

/// The demo: what an application's feature authors write, each screen, service and module in a file of its own.
///
///     let router = Router(configuration: RouterConfiguration(webPath: DemoFeatures.webPath))
///     try DemoFeatures.register(in: router, stateDirectory: "/var/lib/demo")
public enum DemoFeatures {
    /// The route that takes `http` and `https` URLs.
    public static let webPath = WebScreen.path

    /// Registers all screens and services, and declares the module.
    ///
    /// - Parameter stateDirectory: where the ledger is kept; must exist.
    /// - Throws: `RegistrationError` when the router holds one of the paths or names already.
    public static func register(in router: Router, stateDirectory: String) throws {
        let account = Account()
        let ledger = LedgerService(directory: stateDirectory)
        let screens = DemoScreens(shown: NavigationStack(tabs: 2))
        router.use(screens.shown)
        try router.register(
            TheRouterScreens.routes(screens)
                + [
                    LoginScreen.route(account, screens), OrdersScreen.route(screens),
                    UserScreen.route(screens), WebScreen.route(screens),
                ])
        try OrdersScreen.requireLogin(in: router, account)
        try router.services.expose(AppConfigService.exposed)
        try router.services.expose(CalculatorService.exposed)
        try router.services.expose(ClockService.exposed)
        try router.services.expose(ledger.exposed)
        try AppendActions.register(in: router, ledger)
        router.declare([
            PrinterModule(
                printer: PrinterService(ledger: ledger, directory: stateDirectory), screens: screens)
        ])
    }
}
