package import Waypost

extension JSONValue {
    /// About how many bytes of memory the value holds: small objects take fifty times as many as their text has.
    package var weight: Int {
        switch self {
        case .null, .bool, .int, .double: Self.slot
        case .string(let text): Self.slot + Self.weight(of: text)
        case .array(let elements): elements.reduce(2 * Self.slot) { $0 + $1.weight }
        case .object(let members):
            members.reduce(Self.table) { $0 + Self.slot + Self.weight(of: $1.key) + $1.value.weight }
        }
    }

    /// A place in an array or a table, of which up to half are empty.
    private static let slot = 48
    /// An object beside its members.
    private static let table = 160

    private static func weight(of text: String) -> Int {
        // Up to 15 bytes stand in the place itself.
        text.utf8.count > 15 ? text.utf8.count + 32 : 0
    }
}
