import Waypost

/// A screen of the demo: it is opened by answering with its name and what it was opened with.
enum Screen {
    static func opened(_ name: String, _ request: RouteRequest) -> RouteAnswer {
        .opened(["screen": .string(name), "params": .object(request.parameters.merged)])
    }
}
