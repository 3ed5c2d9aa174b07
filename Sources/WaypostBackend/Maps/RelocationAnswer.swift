public import Waypost
package import WaypostMessages

/// What an agent says of a relocation document.
public struct RelocationAnswer: Sendable, Hashable {
    /// One entry, and what is to be said of it.
    public struct Entry: Sendable, Hashable {
        /// The name of its layer.
        public let layer: String
        /// Its number in its layer, from 1.
        public let number: Int
        /// Why it has no effect, or what it depends on.
        public let reason: String
    }

    /// The agent.
    public package(set) var agent: String
    /// The document's layer.
    package var layer: String
    package var refused: AppliedMap.Refused?
    package var applied: AppliedMap
    /// What the agent published, as one line.
    package var line: [UInt8]

    /// Whether the document is in force.
    public var isApplied: Bool { refused == nil }
    /// Why the agent refused it, naming the entry that is to blame; nil when it is in force.
    public var refusal: Failure? { refused.map { Failure($0.code, $0.detail) } }
    /// How many entries are in force now, in all layers, with those that have no effect.
    public var entries: Int { applied.entries }
    /// The entries of the document's layer that have no effect in the agent's build; none when it was refused.
    public var inactive: [Entry] {
        guard isApplied else { return [] }
        return applied.inactive.filter { $0.layer == layer }.map {
            Entry(layer: $0.layer, number: $0.index + 1, reason: $0.reason)
        }
    }
    /// The entries of all layers that have a condition, with what it came to.
    public var conditional: [Entry] {
        applied.conditional.map { Entry(layer: $0.layer, number: $0.index + 1, reason: $0.reason) }
    }
    /// How many entries these lists leave out, because the broker takes no message as large.
    public var omitted: Int { applied.omitted }
}

extension RelocationAnswer: Encodable {
    /// Writes it as `waypost relocate --json` does: what the agent published, with its name.
    public func encode(to encoder: any Encoder) throws {
        try JSONValue(parsing: line, limits: .trustedFile).encode(to: encoder)
    }
}
