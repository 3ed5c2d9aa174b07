/// A route as the router keeps it: read once, shared by all snapshots.
package final class StoredRoute: Sendable {
    package let route: Route
    package let pattern: RoutePattern
    /// What a relocation entry that added this route gives along.
    let params: [String: JSONValue]
    /// For a route that relocation added, the patterns under which the program itself registered its destination.
    let ownPatterns: [RoutePattern]?

    init(
        route: Route, pattern: RoutePattern, params: [String: JSONValue] = [:],
        ownPatterns: [RoutePattern]? = nil
    ) {
        self.ownPatterns = ownPatterns
        self.route = route
        self.pattern = pattern
        self.params = params
    }

    package var description: RouteDescription {
        var description = RouteDescription(
            path: pattern.text, className: route.name ?? "", priority: route.priority, kind: route.kind,
            takesDeeper: route.takesDeeper, idempotent: route.idempotent, redirects: route.redirect != nil,
            converters: converters, metadata: route.metadata, defaults: route.defaults,
            parameters: parameters)
        description.answer = route.answer
        description.isWhole.value = true
        return description
    }

    /// Why the type that the route reads can never be read from its pattern; nil when it can.
    var mismatch: String? { route.properties?.problem(with: pattern.placeholders) }

    private var converters: [String] {
        guard pattern.text.utf8.contains(UInt8(ascii: "<")) else { return [] }
        let names = pattern.segments.flatMap(\.converters)
        return Set(names).subtracting(PatternSyntax.builtInConverterNames).sorted()
    }
}

/// A table and what its indices mean; a value whose copies share what they have in common.
package struct RouteStore: Sendable {
    package private(set) var table: RouteTable
    // In chunks, so that a change of one route among 100 000 copies two short arrays.
    private var chunks: [[StoredRoute?]] = []
    private var used = 0
    private var free: [UInt32] = []
    private var schemes: [String: Int] = [:]
    /// The scheme of all routes that name one; nil when they name several, or none does.
    private(set) var onlyScheme: String?
    private var withoutScheme = 0
    /// The patterns of groups without their groups' beginning, and how often each whole one has such a beginning.
    private var inGroups: [RouteKey: [String: Int]] = [:]

    private static let chunkLength = 256

    init(_ configuration: RouterConfiguration) {
        table = RouteTable(syntax: configuration.syntax, converters: configuration.converters)
    }

    var count: Int { used - free.count }

    package subscript(index: UInt32) -> StoredRoute? {
        let (chunk, place) = Int(index).quotientAndRemainder(dividingBy: Self.chunkLength)
        return chunk < chunks.count && place < chunks[chunk].count ? chunks[chunk][place] : nil
    }

    /// Whether what was found is a route and no fallback.
    func isDestination(_ match: RouteMatch) -> Bool { self[match.index]?.pattern.isFallback == false }

    /// Whether a route takes a URL, and not only a fallback.
    func hasDestination(_ url: RouteURL) -> Bool { table.allMatches(url).contains { isDestination($0) } }

    /// All routes, in the order in which they were added, gaps filled by later ones.
    package var records: some Sequence<StoredRoute> { chunks.lazy.joined().compactMap(\.self) }

    /// Whether a route names this scheme.
    func has(scheme: String) -> Bool { scheme == onlyScheme || schemes[scheme] != nil }

    /// Whether there are routes without a scheme.
    var hasKeys: Bool { withoutScheme > 0 }

    /// Whether there are routes, and none names a scheme.
    var takesAnyScheme: Bool { schemes.isEmpty && hasKeys }

    /// The schemes that routes name.
    package var schemeNames: [String] { schemes.keys.sorted() }

    /// The same while there are routes without one as well.
    package var schemesBesideNone: [String] { withoutScheme > 0 ? schemeNames : [] }

    package func pattern(_ text: String) throws(RegistrationError) -> RoutePattern {
        do throws(RoutePatternError) {
            return try table.pattern(text)
        } catch {
            throw .badPattern(text, offset: error.offset, detail: "\(error.reason)")
        }
    }

    /// - Returns: The pattern of the route that it replaced.
    mutating func add(_ record: StoredRoute, replacing: Bool) throws(RegistrationError) -> String? {
        let index = free.last ?? UInt32(truncatingIfNeeded: used)
        let replaced: UInt32?
        do throws(RouteConflict) {
            replaced = try table.add(
                record.pattern, priority: record.route.priority, takesDeeper: record.route.takesDeeper,
                index: index, replacing: replacing)
        } catch {
            throw .conflict(pattern: error.pattern, heldBy: error.rival)
        }
        if free.popLast() == nil { used += 1 }
        let (chunk, place) = Int(index).quotientAndRemainder(dividingBy: Self.chunkLength)
        if chunk == chunks.count { chunks.append([]) }
        if place == chunks[chunk].count {
            chunks[chunk].append(record)
        } else {
            chunks[chunk][place] = record
        }
        count(record, by: 1)
        let old = replaced.flatMap { self[$0]?.pattern.text }
        if let replaced { drop(replaced) }
        return old
    }

    /// Moves the table's memory together after many changes.
    mutating func compact() { table.compact() }

    /// Takes away every route with exactly this pattern, and this priority when one is given.
    @discardableResult
    mutating func remove(_ pattern: RoutePattern, priority: Int? = nil) -> Bool {
        let indices = table.remove(pattern, priority: priority)
        for index in indices { drop(index) }
        return !indices.isEmpty
    }

    private mutating func drop(_ index: UInt32) {
        guard let record = self[index] else { return }
        let (chunk, place) = Int(index).quotientAndRemainder(dividingBy: Self.chunkLength)
        chunks[chunk][place] = nil
        free.append(index)
        count(record, by: -1)
    }

    /// The whole patterns of the routes that were registered in groups under this one; empty where it is one by itself.
    func wholePatterns(of key: RouteKey) -> [String] {
        guard let whole = inGroups[key] else { return [] }
        return records.contains { $0.route.pattern == key } ? [] : whole.keys.sorted()
    }

    private mutating func count(_ record: StoredRoute, by change: Int) {
        if let key = record.route.keyInGroup {
            var whole = inGroups[key] ?? [:]
            let number = whole[record.pattern.text, default: 0] + change
            whole[record.pattern.text] = number > 0 ? number : nil
            inGroups[key] = whole.isEmpty ? nil : whole
        }
        guard let scheme = record.pattern.scheme else {
            withoutScheme += change
            return
        }
        let number = schemes[scheme, default: 0] + change
        schemes[scheme] = number > 0 ? number : nil
        onlyScheme = schemes.count == 1 ? schemes.first?.key : nil
    }
}
