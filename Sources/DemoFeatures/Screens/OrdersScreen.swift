import Waypost

/// The orders, only for users who are logged in.
enum OrdersScreen {
    private static let path = "scheme://router/orders"

    static func route(_ screens: DemoScreens) -> Route { screens.page(path, "OrdersScreen") }

    /// Adds the interceptor: without a login the orders do not open.
    static func requireLogin(in router: Router, _ account: Account) throws(RegistrationError) {
        _ = try router.intercept("login", scope: .patterns([path])) { _ in
            account.user == nil
                ? .stop(reason: "no user is logged in; open scheme://router/login?user=NAME first") : .proceed
        }
    }
}
