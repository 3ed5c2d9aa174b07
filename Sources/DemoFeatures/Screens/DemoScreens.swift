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
