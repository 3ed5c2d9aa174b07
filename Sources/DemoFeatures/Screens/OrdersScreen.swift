import Waypost

/// The orders, only for users who are logged in.
enum OrdersScreen {
    private static let path: RouteKey = "scheme://router/orders"

    static func route(_ screens: DemoScreens) -> Route { screens.page(path, "OrdersScreen") }

    /// The longest time that an open may wait for a login, in seconds.
    private static let longestWait = 86_400

    /// Adds the interceptor: without a login the orders do not open, and with `?wait=SECONDS` they wait for one.
    static func requireLogin(in router: Router, _ account: Account) throws(RegistrationError) {
        _ = try router.intercept("login", scope: .patterns([path])) { request in
            guard account.user == nil else { return .proceed }
            if let seconds = try? request.parameters.value("wait", as: Int.self), seconds > 0 {
                return .wait(for: account.gate, atMost: .seconds(min(seconds, longestWait)))
            }
            return .stop(reason: "no user is logged in; open scheme://router/login?user=NAME first")
        }
    }
}
