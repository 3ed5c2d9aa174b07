import Synchronization
import Waypost

/// Routes without screens: the list that TheRouter exports, each path with a destination that records openings.
///
/// A backend is tested against this where the client itself can't run.
enum StandInRoutes {
    /// The most routes of a file.
    private static let maximum = 1_000_000

    /// Reads `[{"path","class","priority"}]`.
    ///
    /// - Throws: ``Complaint`` 64 naming the file and the entry.
    static func read(file: String) throws(Complaint) -> [Route] {
        let bytes = try InputFile.read(file, purpose: "routes file")
        let json: JSONValue
        do {
            json = try JSONValue(parsing: bytes, limits: .trustedFile)
        } catch {
            throw Complaint(.usage, "routes file \(file): \(error)")
        }
        guard let entries = json.arrayValue, entries.count <= maximum else {
            throw Complaint(
                .usage, "routes file \(file) must be an array like [{\"path\":…,\"class\":…,\"priority\":0}]")
        }
        var routes: [Route] = []
        var classes: [String: Set<String>] = [:]
        for (index, entry) in entries.enumerated() {
            let route = try Self.route(entry, at: "routes file \(file): entry \(index)")
            // An export may list a path of a class twice; that says nothing new.
            if classes[route.pattern, default: []].insert(route.name ?? "").inserted { routes.append(route) }
        }
        return routes
    }

    /// Registers what a file held.
    ///
    /// - Throws: ``Complaint`` 64 naming the file and the route.
    static func register(_ routes: [Route], of file: String, in router: Router) throws(Complaint) {
        do {
            try router.register(routes)
        } catch {
            throw Complaint(.usage, "routes file \(file): \(error)")
        }
    }

    private static func route(_ entry: JSONValue, at place: String) throws(Complaint) -> Route {
        guard let path = entry["path"]?.stringValue else { throw Complaint(.usage, "\(place) has no path") }
        let name = entry["class"]?.stringValue ?? ""
        let priority: Int64
        switch entry["priority"] {
        case nil, .null?: priority = 0
        // TheRouter exports numbers, some of its ports digit strings.
        case .string(let text)?: priority = Int64(text) ?? 0
        case let number?: priority = number.intValue ?? 0
        }
        let kind = entry["kind"]?.stringValue.flatMap(RouteKind.init) ?? .page
        let counter = OpeningCounter()
        return Route(
            path, name: name.isEmpty ? nil : name, priority: Int(clamping: priority), kind: kind,
            idempotent: true
        ) {
            request in
            .opened([
                "class": .string(name), "opened": .int(counter.next()),
                "params": .object(request.parameters.merged),
            ])
        }
    }
}

/// Counts the openings of one route.
private final class OpeningCounter: Sendable {
    private let count = Mutex<Int64>(0)

    func next() -> Int64 {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
