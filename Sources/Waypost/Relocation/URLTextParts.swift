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
