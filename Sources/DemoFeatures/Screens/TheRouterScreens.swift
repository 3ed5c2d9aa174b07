import Waypost

/// The controllers of TheRouter's own example application, under the names and paths that it gives them.
enum TheRouterScreens {
    static let routes = [
        screen("scheme://router/demo", "TheRouter_Example.TheRouterController"),
        screen("scheme://router/demo1", "TheRouter_Example.TheRouterControllerA"),
        screen("scheme://router/demo2", "TheRouter_Example.TheRouterControllerB"),
        screen("scheme://router/demo2Android", "TheRouter_Example.TheRouterControllerB"),
        screen("scheme://router/demo3", "TheRouter_Example.TheRouterControllerC"),
    ]

    private static func screen(_ path: String, _ name: String) -> Route {
        Route(path, name: name, idempotent: true) { request in Screen.opened(name, request) }
    }
}
