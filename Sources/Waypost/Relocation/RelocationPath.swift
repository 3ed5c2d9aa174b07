/// The origin or target of a redirect: a URL, or all URLs below one when it ends in `/**`.
struct RelocationPath: Sendable, Hashable {
    /// What two paths are compared by: bytes, not Unicode equivalence, as everywhere in matching.
    struct Key: Sendable, Hashable {
        let bytes: [UInt8]

        init(bytes: [UInt8]) { self.bytes = bytes }

        /// The key of a path that is compared as it was written.
        init(of path: String) { bytes = Array(path.utf8) }

        // As one piece: an array is hashed element by element.
        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    let text: String
    /// The text for details: of a query it has the keys only.
    var shown: String { RouteURL.withoutValues(text) }
    let scheme: String
    let components: [String]
    let isSubtree: Bool
    let key: Key

    /// The text up to its last component.
    var stem: String {
        var last = 0
        (try? RouteURL(text))?.forEachComponent { start, _ in
            last = Int(start)
            return true
        }
        return String(Substring(text.utf8.prefix(last)))
    }

    /// More components than a sensible URL has; keeps following redirects linear in the map's size.
    static let maximumComponents = 64

    init(_ text: String, index: Int, field: String) throws(RelocationError) {
        let url: RouteURL
        do throws(RouteURLError) {
            url = try RouteURL(text)
        } catch {
            throw RelocationError(.badField, index: index, field: field, detail: "\(field): \(error)")
        }
        let components = url.components
        guard components.count <= Self.maximumComponents else {
            throw RelocationError(
                .badField, index: index, field: field,
                detail: "\(field) has more than \(Self.maximumComponents) components")
        }
        isSubtree = components.last == "**"
        self.text = url.text
        scheme = url.scheme
        self.components = isSubtree ? components.dropLast() : components
        key = Self.key(scheme, self.components, isSubtree)
    }

    init(scheme: String, components: [String], isSubtree: Bool) {
        self.scheme = scheme
        self.components = components
        self.isSubtree = isSubtree
        text = "\(scheme)://\(components.joined(separator: "/"))\(isSubtree ? "/**" : "")"
        key = Self.key(scheme, components, isSubtree)
    }

    private static func key(_ scheme: String, _ components: [String], _ isSubtree: Bool) -> Key {
        var bytes = Array(scheme.utf8)
        bytes.reserveCapacity(bytes.count + components.reduce(2) { $0 + $1.utf8.count + 1 })
        for component in components {
            // No component holds a NUL, so this keeps them apart.
            bytes.append(0)
            bytes.append(contentsOf: component.utf8)
        }
        if isSubtree { bytes.append(contentsOf: [0, 0]) }
        return Key(bytes: bytes)
    }
}

/// A redirect as it is followed: where from, where to, what it adds.
struct RelocationRedirect: Sendable {
    let origin: RelocationPath
    let target: RelocationPath
    let params: [String: JSONValue]
    private let targetParts: URLTextParts
    /// The target's text up to its `/**`, with the slash.
    private let targetStem: String

    /// The redirect that an entry makes; nil for one that makes none.
    init?(_ entry: RelocationEntry, index: Int) throws(RelocationError) {
        let texts: (origin: String, target: String)
        switch entry.kind {
        case .replace(let origin, let target): texts = (origin, target)
        case .reset(let origin, let target?): texts = (origin, target)
        default: return nil
        }
        origin = try RelocationPath(texts.origin, index: index, field: "orginPath")
        target = try RelocationPath(texts.target, index: index, field: "targetPath")
        if case .reset = entry.kind, origin.key == target.key { return nil }
        guard origin.isSubtree == target.isSubtree else {
            throw RelocationError(
                .badField, index: index, field: target.isSubtree ? "orginPath" : "targetPath",
                detail: "/** must stand on both sides of a redirect or on none")
        }
        params = entry.params
        targetParts = URLTextParts(target.text)
        targetStem = target.isSubtree ? target.stem : ""
    }

    /// The URL that this redirect makes of one that it matches.
    ///
    /// The query goes along; where the target names a key itself, the target's value stays.
    func apply(to url: RouteURL, components: [String]) -> String {
        var text = targetParts.base
        if target.isSubtree {
            text = targetStem
            text += components.dropFirst(origin.components.count)
                .map { PercentCoding.encode($0, for: .component) }
                .joined(separator: "/")
        }
        let query = targetParts.query(joining: url.queryText)
        if !query.isEmpty { text += "?" + query }
        if let fragment = targetParts.fragment ?? URLTextParts(url.text).fragment { text += "#" + fragment }
        return text
    }
}

/// A URL's text cut into what stands before the query, the query, and the fragment.
struct URLTextParts: Sendable {
    let base: String
    let query: String?
    let fragment: String?

    // By bytes, as a URL is read: a `#` with a combining mark behind it is another character.
    init(_ text: String) {
        let hash = text.utf8.firstIndex(of: UInt8(ascii: "#"))
        fragment = hash.map { String(Substring(text.utf8[$0...].dropFirst())) }
        let front = text[..<(hash ?? text.endIndex)]
        let mark = front.utf8.firstIndex(of: UInt8(ascii: "?"))
        base = String(front[..<(mark ?? front.endIndex)])
        query = mark.map { String(Substring(front.utf8[$0...].dropFirst())) }
    }

    /// This query and those pairs of the other whose keys it does not name.
    func query(joining other: String?) -> String {
        guard let query, !query.isEmpty else { return other ?? "" }
        guard let other, !other.isEmpty else { return query }
        let keys = Set(Self.pairs(query).map(Self.key))
        let added = Self.pairs(other).filter { !keys.contains(Self.key($0)) }
        return ([Substring(query)] + added).joined(separator: "&")
    }

    private static func pairs(_ query: String) -> [Substring] {
        query.utf8.split(separator: UInt8(ascii: "&")).map(Substring.init)
    }

    private static func key(_ pair: Substring) -> String {
        PercentCoding.decode(Substring(pair.utf8.prefix { $0 != UInt8(ascii: "=") }))
    }
}
