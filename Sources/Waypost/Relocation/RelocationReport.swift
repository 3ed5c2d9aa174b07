/// What a relocation map does in this build.
public struct RelocationReport: Sendable, Hashable {
    /// An entry that is in force but does nothing in this build.
    public struct Inactive: Sendable, Hashable {
        /// The layer that holds it.
        public var layer: String
        /// Its place in the layer, from 0.
        public var index: Int
        /// Why it does nothing, as a sentence.
        public var reason: String

        package init(layer: String, index: Int, reason: String) {
            (self.layer, self.index, self.reason) = (layer, index, reason)
        }
    }

    /// An entry with a condition.
    package struct Conditional: Sendable, Hashable {
        /// Whether it applies.
        package enum State: String, Sendable, Hashable, CaseIterable {
            /// It applies in this client.
            case yes
            /// It does not.
            case no
            /// Each open decides: by the time, or by a parameter.
            case depends
        }

        /// The layer that holds it.
        package var layer: String
        /// Its place in the layer, from 0.
        package var index: Int
        /// Whether it applies.
        package var state: State
        /// The condition in words, and what does not hold.
        package var reason: String

        package init(layer: String, index: Int, state: State, reason: String) {
            (self.layer, self.index, self.state, self.reason) = (layer, index, state, reason)
        }
    }

    /// How many entries all layers have.
    public var entries: Int
    /// The entries that do nothing, by layer and place.
    public var inactive: [Inactive]
    /// The entries that have a condition, by layer and place.
    package var conditional: [Conditional] = []
}

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
