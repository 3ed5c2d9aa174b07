/// Whether one entry of a map applied to a URL, and why.
public struct RelocationDecision: Sendable, Hashable {
    /// The layer that holds the entry.
    public var layer: String
    /// The entry's place in its layer, from 0.
    public var index: Int
    /// Whether it decided about the URL.
    public var applies: Bool
    /// Why, in words: `share 10 % of salt exp-1: no`.
    public var reason: String

    /// As `resolve` prints it.
    package var json: JSONValue {
        [
            "layer": .string(layer), "index": .int(Int64(index)), "applies": .bool(applies),
            "reason": .string(reason),
        ]
    }
}

extension RelocationDecision: CustomStringConvertible {
    /// Entry, layer and reason in one line; the entry is counted from 1.
    public var description: String {
        "\(RelocationPlan.Place(layer: layer, index: index).text): \(reason)"
    }
}
