import Waypost
import WaypostTools

/// The list of routes that TheRouter exports, as a file: `[{"path","class","priority"}]`; or a whole contract, as
/// `waypost describe --json` prints it.
struct RouteFile {
    /// The most routes of a file.
    private static let maximum = 1_000_000

    /// What is in it; what is listed twice, alike, is one route.
    private(set) var contract: RouterContract
    /// What is only good to know of it.
    private(set) var notes: [(finding: CheckReport.Finding, place: FilePlace?)] = []
    /// Where each route of the contract stands, for instance `line 3`; empty when there is no file.
    private var places: [String] = []
    /// The same as places of the file.
    private var filePlaces: [FilePlace] = []

    /// What is in no file.
    init(_ contract: RouterContract) { self.contract = contract }

    /// What is wrong with a file: `routes.json:3:5: path is missing`.
    struct Fault: Error, CustomStringConvertible {
        var description: String
    }

    /// Reads it.
    ///
    /// - Throws: ``Fault`` naming the file, the entry and the field.
    init(_ source: JSONFile) throws(Fault) {
        let (json, values) = (source.json, source.values)
        let elements = values.elements(of: values.member("routes", of: values.root) ?? values.root)
        guard let list = (json["routes"] ?? json).arrayValue, list.count <= Self.maximum else {
            throw Fault(
                description:
                    "\(source.name) must be an array like [{\"path\":…,\"class\":…,\"priority\":0}], or a contract"
            )
        }
        do throws(RouteImportError) {
            contract = try RouterContract(json)
        } catch {
            let element = error.index.flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            let field = element.flatMap { element in error.field.flatMap { values.member($0, of: element) } }
            let place = (field ?? element).map(source.place)
            throw Fault(description: "\(place?.description ?? source.name): \(error.detail)")
        }
        keepEachOnce(list, elements.map(source.place))
    }

    /// Where a route of the contract stands; nil when it is in no file.
    func place(_ index: Int) -> String? { places.indices.contains(index) ? places[index] : nil }

    /// The same as a place of the file.
    func filePlace(_ index: Int) -> FilePlace? {
        filePlaces.indices.contains(index) ? filePlaces[index] : nil
    }

    /// Has each route run again after a crash.
    mutating func makeIdempotent() {
        for index in contract.routes.indices { contract.routes[index].idempotent = true }
    }

    private mutating func keepEachOnce(_ list: [JSONValue], _ elements: [FilePlace]) {
        // In a file of one line the number of the entry says more.
        let saysLines = elements.count == list.count && elements.first?.line != elements.last?.line
        let all = list.indices.map { saysLines ? "line \(elements[$0].line ?? 0)" : "entry \($0 + 1)" }
        var first: [RouteBytes: Int] = [:]
        var kept: [Int] = []
        for (index, route) in contract.routes.enumerated() {
            let name = "\(route.path) (\(all[index]))"
            let place = elements.indices.contains(index) ? elements[index] : nil
            for field in RouteDescription.unreadFields(of: list[index]) {
                note(.unreadField, route.path, "\(name): the field \(field) is not read", place)
            }
            let key = RouteBytes(route: route)
            if let earlier = first[key] {
                note(.duplicate, route.path, "\(name) is the same as \(all[earlier])", place)
            } else {
                first[key] = index
                kept.append(index)
            }
        }
        contract.routes = kept.map { contract.routes[$0] }
        places = kept.map { all[$0] }
        filePlaces = elements.count == list.count ? kept.map { elements[$0] } : []
    }

    private mutating func note(
        _ kind: CheckReport.Finding.Kind, _ subject: String, _ detail: String, _ place: FilePlace?
    ) {
        notes.append((.init(kind: kind, subject: subject, detail: detail), place))
    }
}

extension RouteFile {
    /// Reads a file; `-` is standard input.
    ///
    /// - Throws: ``CommandError`` 64 naming the file, the entry and the field.
    init(_ file: String) throws(CommandError) {
        let source = try JSONFile(file, purpose: "routes file")
        do throws(Fault) {
            try self.init(source)
        } catch {
            throw CommandError(.usage, "routes file \(error)")
        }
    }

    /// The routes whose converters are known here; the others are named on standard error.
    static func known(
        _ routes: [RouteDescription], _ configuration: RouterConfiguration, notesMissing: Bool = true
    ) -> [RouteDescription] {
        routes.filter { route in
            guard let name = route.missingConverter(configuration) else { return true }
            guard notesMissing else { return false }
            Terminal.note("waypost: \(route.path) is left out: its converter \(name) is not known here")
            return false
        }
    }
}

/// A route of which the path is compared by its bytes, as in matching, and not by Unicode equivalence.
private struct RouteBytes: Hashable {
    let route: RouteDescription

    static func == (one: RouteBytes, other: RouteBytes) -> Bool {
        one.route == other.route && one.route.path.utf8.elementsEqual(other.route.path.utf8)
    }

    // Equal ones have equal paths; more is not needed, for few routes share theirs.
    func hash(into hasher: inout Hasher) { hasher.combine(route.path) }
}
