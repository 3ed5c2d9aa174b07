/// The target of a redirect: a URL, all URLs below one, or a URL that is filled with what the origin captured.
package struct RelocationTarget: Sendable {
    /// A part of the text, in order.
    private enum Piece: Sendable {
        case text(String)
        /// What the placeholder of that name captured.
        case capture(String)
    }

    /// The name of a rest that is written `**`.
    private static let rest = "**"

    /// The URL or subtree; nil for the target of a pattern.
    let path: RelocationPath?
    /// The target as it was written.
    package let text: String
    /// Its scheme; nil where that of the opened URL stays.
    let scheme: String?
    /// Its host; nil where only the opened URL says it.
    let host: String?
    /// Whether it leads to one URL, whatever is opened.
    package let isFixed: Bool
    /// Whether its path has what was captured in another order, so that it may lead back and forth.
    let swapsCaptures: Bool

    /// The text for details: of a query it has the keys only.
    var shown: String { RouteURL.withoutValues(text) }

    /// Whether it names parameters in its query.
    var hasQuery: Bool { parts.query?.isEmpty == false }

    private let parts: URLTextParts
    /// What stands before the query.
    private let base: [Piece]
    /// Empty unless a value of the query is captured.
    private let query: [Piece]

    /// - Throws: ``RelocationError`` 422 for what is no URL, and for a placeholder that the origin does not have.
    init(
        _ text: String, of origin: RelocationOrigin, index: Int, _ language: RelocationLanguage
    ) throws(RelocationError) {
        let pattern = try language.pattern(text, index: index, field: "targetPath")
        guard let from = origin.pattern else {
            let path = try Self.path(text, of: origin, pattern, index)
            self.path = path
            self.text = path.text
            scheme = path.scheme
            host = path.components.first ?? ""
            isFixed = !path.isSubtree
            swapsCaptures = false
            parts = URLTextParts(path.text)
            base = path.isSubtree ? [.text(path.stem), .capture(Self.rest)] : [.text(parts.base)]
            query = []
            return
        }
        var names = Set(from.placeholderNames)
        if case .rest = from.segments.last { names.insert(Self.rest) }
        path = nil
        self.text = pattern?.text ?? text
        parts = URLTextParts(self.text)
        base =
            try pattern.map { pattern throws(RelocationError) in try Self.pieces(of: pattern, names, index) }
            ?? [.text(parts.base)]
        query = try Self.pieces(ofQuery: parts.query ?? "", names, index)
        let holes = base.compactMap { if case .capture(let name) = $0 { name } else { nil } }
        isFixed = holes.isEmpty && query.isEmpty
        let order = holes.compactMap(from.placeholderNames.firstIndex)
        swapsCaptures = order != order.sorted()
        // Read once with samples, for what is no URL whatever is captured.
        let sample = { (_: String) in RelocationOrigin.sampleText }
        var example = parts
        if !query.isEmpty { example.query = Self.fill(query, sample) }
        let read = try RelocationPath(
            example.text(after: Self.fill(base, sample)), index: index, field: "targetPath")
        scheme = read.scheme.isEmpty && from.scheme == nil ? nil : read.scheme
        let isHostCaptured = pattern?.segments.first.map { !$0.names.isEmpty } ?? false
        host = isHostCaptured ? nil : read.components.first ?? ""
    }

    /// The target of a URL or of a subtree.
    private static func path(
        _ text: String, of origin: RelocationOrigin, _ pattern: RoutePattern?, _ index: Int
    ) throws(RelocationError) -> RelocationPath {
        let path = try RelocationPath(text, index: index, field: "targetPath")
        guard origin.isSubtree == path.isSubtree else {
            throw RelocationError(
                .badField, index: index, field: path.isSubtree ? "orginPath" : "targetPath",
                detail: "/** must be on both sides of a redirect or on neither")
        }
        for segment in pattern?.segments ?? [] where segment != .rest(name: rest) {
            if let name = segment.names.first ?? (segment == .wildcard ? "*" : nil) {
                throw unknown(name, index)
            }
        }
        return path
    }

    private static func pieces(
        of pattern: RoutePattern, _ names: Set<String>, _ index: Int
    ) throws(RelocationError) -> [Piece] {
        let bytes = Array(URLTextParts(pattern.text).base.utf8)
        var pieces: [Piece] = []
        var written = 0
        func add(_ range: Range<Int>) {
            guard !range.isEmpty else { return }
            pieces.append(.text(String(decoding: bytes[range], as: UTF8.self)))
        }
        for piece in pattern.pieces {
            guard piece.kind != .wildcard else { throw unknown("*", index) }
            let holes = bytes.withUnsafeBufferPointer { bytes in
                piece.holes(in: bytes).map { hole in
                    let isWhole = hole.end == 0
                    let start = Int(isWhole ? piece.start : hole.start)
                    let end = Int(isWhole ? piece.end : hole.end)
                    return (name: hole.name(in: bytes), range: start..<end)
                }
            }
            for hole in holes {
                guard names.contains(hole.name) else { throw unknown(hole.name, index) }
                add(written..<hole.range.lowerBound)
                pieces.append(.capture(hole.name))
                written = hole.range.upperBound
            }
        }
        add(written..<bytes.count)
        return pieces
    }

    /// A value that is `:name` or `<name>` and nothing else is captured.
    private static func pieces(
        ofQuery query: String, _ names: Set<String>, _ index: Int
    ) throws(RelocationError) -> [Piece] {
        var pieces: [Piece] = []
        var written = query.startIndex
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let value = pair[pair.index(after: equals)...]
            guard let name = placeholder(Substring(value)) else { continue }
            guard names.contains(name) else { throw unknown(name, index) }
            pieces += [.text(String(query[written..<value.startIndex])), .capture(name)]
            written = value.endIndex
        }
        if !pieces.isEmpty, written < query.endIndex { pieces.append(.text(String(query[written...]))) }
        return pieces
    }

    private static func placeholder(_ value: Substring) -> String? {
        let bytes = value.utf8
        if bytes.first == UInt8(ascii: ":"), bytes.count > 1 { return String(Substring(bytes.dropFirst())) }
        guard bytes.first == UInt8(ascii: "<"), bytes.last == UInt8(ascii: ">"), bytes.count > 2 else {
            return nil
        }
        return String(Substring(bytes.dropFirst().dropLast()))
    }

    private static func unknown(_ name: String, _ index: Int) -> RelocationError {
        RelocationError(
            .badField, index: index, field: "targetPath",
            detail: "targetPath has the placeholder \(name.cut(to: 64)), which the origin does not have; "
                + RelocationLanguage.advice)
    }

    // MARK: Filling

    /// The URL that it makes of one that the origin takes.
    ///
    /// The query goes along; where the target names a key itself, the target's value stays.
    func url(from url: RouteURL, _ origin: RelocationOrigin, _ captured: [CapturedParameter]) -> String {
        var parts = parts
        let rest = { Self.encoded(url.components.dropFirst(origin.fixedCount)) }
        func value(_ name: String, _ place: PercentCoding.Place) -> String {
            PercentCoding.encode(captured.first { $0.name == name }?.text ?? "", for: place)
        }
        var text = Self.fill(base) {
            $0 == Self.rest || $0 == origin.restName ? rest() : value($0, .component)
        }
        if !query.isEmpty {
            parts.query = Self.fill(query) { value($0 == Self.rest ? origin.restName ?? "" : $0, .query) }
        }
        if scheme == nil, !url.scheme.isEmpty {
            text = "\(url.scheme)://\(Substring(text.utf8.drop { $0 == UInt8(ascii: "/") }))"
        }
        let query = parts.query(joining: url.queryText)
        if !query.isEmpty { text += "?" + query }
        if let fragment = parts.fragment ?? url.fragmentText { text += "#" + fragment }
        return text
    }

    private static func encoded(_ components: ArraySlice<String>) -> String {
        components.map { PercentCoding.encode($0, for: .component) }.joined(separator: "/")
    }

    private static func fill(_ pieces: [Piece], _ value: (String) -> String) -> String {
        var text: String?
        for piece in pieces {
            let next =
                switch piece {
                case .text(let text): text
                case .capture(let name): value(name)
                }
            text = text.map { $0 + next } ?? next
        }
        return text ?? ""
    }
}

/// A URL's text cut into what stands before the query, the query, and the fragment.
struct URLTextParts: Sendable {
    let base: String
    var query: String?
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

    /// Another beginning with this query and this fragment.
    func text(after base: String) -> String {
        base + (query.map { "?" + $0 } ?? "") + (fragment.map { "#" + $0 } ?? "")
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
