import Threading
import Waypost
import WaypostBackend
import WaypostTools

/// Routes without screens: each path of a list with a destination that records openings.
///
/// A backend is tested against this where the client itself can't run.
enum StandInRoutes {
    /// Registers the routes and services of a contract, without the routes whose converters are not known here: those
    /// are named.
    ///
    /// - Throws: ``CommandError`` 64 naming the file that it came from, and the route; two of one pattern with their
    ///   classes and lines.
    static func register(
        _ list: RouteFile, of file: String, in router: Router, notesMissing: Bool = true
    ) throws(CommandError) {
        let contract = list.contract
        do {
            let known = RouteFile.known(contract.routes, router.configuration, notesMissing: notesMissing)
            try router.register(known.map(route))
            try router.registerStandIns(for: contract)
        } catch {
            let conflict =
                if case .conflict = error {
                    Router.check(
                        contract, maps: [], configuration: router.configuration,
                        place: list.place
                    ).findings(.conflict).first?.detail
                } else { String?.none }
            throw CommandError(.usage, "routes file \(file): \(conflict ?? "\(error)")")
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
