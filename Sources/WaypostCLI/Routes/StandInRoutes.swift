import Threading
import Waypost

/// Routes without screens: each path of a list with a destination that records openings.
///
/// A backend is tested against this where the client itself can't run.
enum StandInRoutes {
    /// Registers a list, without the routes whose converters are not known here: those are named.
    ///
    /// - Throws: ``CommandError`` 64 naming the file that it came from, and the route.
    static func register(_ routes: [RouteDescription], of file: String, in router: Router)
        throws(CommandError)
    {
        do {
            try router.register(RouteFile.known(routes, router.configuration).map(route))
        } catch {
            throw CommandError(.usage, "routes file \(file): \(error)")
        }
    }

    private static func route(_ description: RouteDescription) -> Route {
        let counter = OpeningCounter()
        return Route(description) { request in
            .opened([
                "class": .string(description.className), "opened": .int(counter.next()),
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
