import Waypost

/// One user, by the id in the path: `scheme://router/user/42`.
enum UserScreen {
    static func route(_ screens: DemoScreens) -> Route {
        screens.page("scheme://router/user/:id", "UserScreen")
    }
}
