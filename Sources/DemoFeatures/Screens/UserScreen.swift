import Waypost

/// One user, by the id in the path: `scheme://router/user/42`.
enum UserScreen {
    static let route = Route("scheme://router/user/:id", name: "UserScreen", idempotent: true) { request in
        Screen.opened("UserScreen", request)
    }
}
