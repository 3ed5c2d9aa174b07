import Waypost

/// The orders, only for users who are logged in.
enum OrdersScreen {
    private static let path: RouteKey = "scheme://router/orders"

    static func route(_ screens: DemoScreens) -> Route { screens.page(path, "OrdersScreen") }

    /// The longest time that an open may wait for a login, in seconds.
    private static let longestWait = 86_400

    /// Adds the interceptor and the gate `login`: without a login the orders, and what maps gate by it, do not open, and with
    /// `?wait=SECONDS` they wait for one.
    static func requireLogin(in router: Router, _ account: Account) throws(RegistrationError) {
        @Sendable func decide(_ request: RouteRequest) -> InterceptorDecision {
            guard account.user == nil else { return .proceed }
            if let seconds = try? request.parameters.value("wait", as: Int.self), seconds > 0 {
                return .wait(for: account.gate, atMost: .seconds(min(seconds, longestWait)))
            }
            return .stop(reason: "no user is logged in; open scheme://router/login?user=NAME first")
        }
        _ = try router.intercept("login", scope: .patterns([path])) { decide($0) }
        router.gate("login") { decide($0) }
    }
}
