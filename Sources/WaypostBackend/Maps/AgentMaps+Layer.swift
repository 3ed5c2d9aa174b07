public import Waypost
import WaypostMessages

extension AgentMaps {
    /// Whether a layer or an entry has an effect.
    public enum State: String, Sendable, Hashable, Codable {
        /// It has.
        case active
        /// It has none, for the reason given.
        case inactive
        /// Its time is over.
        case expired
    }

    /// One layer; times are by the agent's clock, in milliseconds since 1970.
    public struct Layer: Sendable, Hashable {
        var wire: MapLayer

        /// `agent`, `patch`, `@` and the name of a group, or the name of a layer of the program's own.
        public var name: String { wire.name }
        /// The document's revision; nil for one that has none, and for a patch.
        public var revision: Int64? { wire.revision }
        /// SHA-256 of the document, as `sha256:` and 64 hex digits; nil for a layer of the program's own.
        public var digest: String? { wire.digest }
        /// Who published it, as far as the agent knows: the keys that signed it, what the document says, or its id.
        public var author: String? { wire.author }
        /// When it was applied; nil for a layer of the program's own.
        public var since: Int64? { wire.since }
        /// When it ends; nil for never.
        public var expires: Int64? { wire.expires }
        /// Whether it has an effect.
        public var state: State { State(wire.state) }
        /// Why the whole layer has none.
        public var reason: String? { wire.reason }
        /// Its entries, in order.
        public var entries: [Entry] { wire.entries.map { Entry(layer: name, wire: $0) } }
        /// The newest document that the agent refused for this layer; what is in force stayed.
        public var refused: Refused? { wire.refused.map(Refused.init) }
    }

    /// One entry, and what becomes of it.
    public struct Entry: Sendable, Hashable {
        /// The name of its layer.
        public let layer: String
        let wire: MapLayer.Entry

        /// Its number in its layer, from 1.
        public var number: Int { wire.number }
        /// What it does; nil for one that only a newer version knows.
        public var entry: RelocationEntry? { try? RelocationEntry(wire.content, index: number - 1) }
        /// The entry as the document has it, with TheRouter's keys.
        public var json: JSONValue { wire.content }
        /// Whether it has an effect.
        public var state: State { State(wire.state) }
        /// Why it has none, or what it depends on; nil when there is nothing to say.
        public var reason: String? { wire.reason }
    }

    /// A document that the agent refused.
    public struct Refused: Sendable, Hashable {
        /// Its revision.
        public let revision: Int64?
        /// SHA-256 of the document, as `sha256:` and 64 hex digits.
        public let digest: String
        /// Why.
        public let reason: Failure
        /// When, by the agent's clock, in milliseconds since 1970.
        public let at: Int64

        init(_ wire: AppliedMap.Refused) {
            (revision, digest, at) = (wire.revision, wire.digest, wire.at)
            reason = Failure(wire.code, wire.detail)
        }
    }
}

extension AgentMaps.State {
    fileprivate init(_ wire: MapLayer.State) {
        self =
            switch wire {
            case .active: .active
            case .inactive: .inactive
            case .expired: .expired
            }
    }
}
