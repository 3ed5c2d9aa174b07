import Waypost

/// Parts of documents that many agents have alike, such as their limits, each kept once.
struct SharedParts: Sendable {
    /// The most parts that are kept; at this number they are emptied, for parts of one agent only fill them.
    private static let maximum = 4_096
    /// Larger parts are rarely alike, and are not kept; a ``JSONValue/weight``.
    private static let maximumWeight = 16_384

    private var known: Set<JSONValue> = []

    /// The same document, with the parts that are known.
    mutating func share(_ document: JSONValue) -> JSONValue {
        guard case .object(let members) = document else { return document }
        return .object(
            members.mapValues { part in
                switch part {
                case .object, .array: share(part: part)
                case .null, .bool, .int, .double, .string: part
                }
            })
    }

    private mutating func share(part: JSONValue) -> JSONValue {
        if let index = known.firstIndex(of: part) { return known[index] }
        guard part.weight <= Self.maximumWeight else { return part }
        if known.count >= Self.maximum { known.removeAll(keepingCapacity: true) }
        known.insert(part)
        return part
    }
}
