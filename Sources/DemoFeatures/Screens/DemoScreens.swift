import Waypost

/// A screen of the demo: it is shown in a model of two tabs, and answers with its name and what it was opened with.
struct DemoScreens: Sendable {
    let shown: NavigationStack

    func page(_ path: RouteKey, _ name: String, kind: RouteKind = .page) -> Route {
        Route(path, name: name, kind: kind, idempotent: true) { request in try await open(name, request) }
    }

    func open(_ name: String, _ request: RouteRequest) async throws -> RouteAnswer {
        var screen = Screen(request, name: name)
        // Someone who opens one page all day long does not pile it up.
        screen.presentation.standard = .popToTarget
        _ = try await shown.show(screen)
        return .opened(["screen": .string(name), "params": .object(request.parameters.merged)])
    }
}

/// One user, by the id in the path: `scheme://router/user/42`.
enum UserScreen {
    static func route(_ screens: DemoScreens) -> Route {
        screens.page("scheme://router/user/:id", "UserScreen")
    }
}

/// Shows web pages; the web route, which takes the `http` and `https` URLs that no other route wants.
enum WebScreen {
    static let path: RouteKey = "scheme://webview/home"

    static func route(_ screens: DemoScreens) -> Route { screens.page(path, "WebScreen", kind: .web) }
}

/// The controllers of TheRouter's own example application, under the names and paths that it gives them.
enum TheRouterScreens {
    static func routes(_ screens: DemoScreens) -> [Route] {
        [
            screens.page("scheme://router/demo", "TheRouter_Example.TheRouterController"),
            screens.page("scheme://router/demo1", "TheRouter_Example.TheRouterControllerA"),
            screens.page("scheme://router/demo2", "TheRouter_Example.TheRouterControllerB"),
            screens.page("scheme://router/demo2Android", "TheRouter_Example.TheRouterControllerB"),
            screens.page("scheme://router/demo3", "TheRouter_Example.TheRouterControllerC"),
        ]
    }
}
