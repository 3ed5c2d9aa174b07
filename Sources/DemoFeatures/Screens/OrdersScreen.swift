import Waypost

/// The orders, for those only who are logged in.
enum OrdersScreen {
    private static let path = "scheme://router/orders"

    static let route = Route(path, name: "OrdersScreen", idempotent: true) { request in
        Screen.opened("OrdersScreen", request)
    }

    /// Stands at the entrance: nobody comes in without having logged in.
    static func guardEntrance(of router: Router, _ account: Account) throws(RegistrationError) {
        _ = try router.intercept("login", scope: .patterns([path])) { _ in
            account.user == nil
                ? .stop(reason: "nobody is logged in; open scheme://router/login?user=NAME first") : .proceed
        }
    }
}
