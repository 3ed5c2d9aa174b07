public import Waypost
import WaypostFleet
import WaypostMessages

/// A document that is or was in force in a layer; times are by the agent's clock, in milliseconds since 1970.
public struct MapVersion: Sendable, Hashable {
    /// How many entries differ from those that were in force in the layer before.
    public struct Changes: Sendable, Hashable {
        /// Those that it added.
        public let added: Int
        /// Those that it removed.
        public let removed: Int
        /// Those that it changed.
        public let changed: Int
    }

    let wire: MapRevision

    init(_ wire: MapRevision) { self.wire = wire }

    /// `agent`, `patch`, or `@` and the name of a group.
    public var layer: String { wire.layer }
    /// Its revision; nil for one that has none, and for a patch.
    public var revision: Int64? { wire.revision }
    /// SHA-256 of the document, as `sha256:` and 64 hex digits.
    public var digest: String { wire.digest }
    /// Who published it, as far as the agent knows: the keys that signed it, what the document says, or its id.
    public var author: String? { wire.author }
    /// Since when it was in force.
    public var from: Int64 { wire.from }
    /// When another took its place; nil while it is in force.
    public var until: Int64? { wire.until }
    /// Whether it is in force.
    public var isInForce: Bool { until == nil }
    /// How long the document was, in bytes; nil when that is not known.
    public var bytes: Int64? { wire.bytes }
    /// What it changed; nil when that is not known.
    public var changes: Changes? {
        wire.changes.map { Changes(added: $0.added, removed: $0.removed, changed: $0.changed) }
    }

    package var json: JSONValue { wire.json }
}

/// As `waypost map history --json` prints it.
extension MapVersion: Codable {
    /// Reads what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.read { (json) throws(Failure) in try MapRevision(json) })
    }

    /// Writes it as `waypost map history --json` does.
    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

/// The last documents of one agent.
public struct MapHistory: Sendable, Hashable, Encodable {
    /// The agent.
    public let agent: String
    /// Of each layer the newest first, eight at most.
    public let versions: [MapVersion]
}

/// A document that an agent keeps, with its entries.
public struct KeptMap: Sendable, Hashable {
    /// Which one it is.
    public let version: MapVersion
    /// Its entries, in order; for a patch those of all patches that were in force.
    public let entries: [RelocationEntry]
    /// Whether values of secret keys are masked, so that it can't be sent again.
    public let isMasked: Bool

    /// The document as a file has it: an array of entries for patches, else a map with its revision.
    public var json: JSONValue {
        let list = JSONValue.array(entries.map(\.json))
        guard version.layer != "patch" else { return list }
        var members: [String: JSONValue] = ["type": "map", "entries": list]
        if let revision = version.revision { members["rev"] = .int(revision) }
        return .object(members)
    }

    init(pages: [JSONValue]) throws(Failure) {
        guard let first = pages.first?["document"] else {
            throw Failure(.badField, "document is missing")
        }
        version = MapVersion(try MapRevision(first))
        let list = JSONValue.array(pages.flatMap { $0["entries"]?.arrayValue ?? [] })
        do throws(RelocationError) {
            entries = try RelocationEntry.list(list, maximum: MapDocument.maximumEntries)
        } catch {
            throw Failure(error)
        }
        isMasked = pages.contains { $0["masked"] == true }
    }
}
