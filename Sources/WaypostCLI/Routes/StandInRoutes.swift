import Threading
import Waypost

/// Routes without screens: each path of a list with a destination that records openings.
///
/// A backend is tested against this where the client itself can't run.
enum StandInRoutes {
    /// Registers a list.
    ///
    /// - Throws: ``CommandError`` 64 naming the file that it came from, and the route.
    static func register(_ routes: [RouteDescription], of file: String, in router: Router)
        throws(CommandError)
    {
        do {
            try router.register(routes.map(route))
        } catch {
            throw CommandError(.usage, "routes file \(file): \(error)")
        }
    }

    private static func route(_ description: RouteDescription) -> Route {
        let counter = OpeningCounter()
        let name = description.className
        return Route(
            description.path, name: name.isEmpty ? nil : name, priority: description.priority,
            kind: description.kind, idempotent: true
        ) { request in
            .opened([
                "class": .string(name), "opened": .int(counter.next()),
                "params": .object(request.parameters.merged),
            ])
        }
    }
}

/// Counts the openings of one route.
private final class OpeningCounter: Sendable {
    private let count = Guarded<Int64>(0)

    func next() -> Int64 {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
