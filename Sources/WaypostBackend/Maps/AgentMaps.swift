package import Waypost
import WaypostFleet
import WaypostMessages

/// The maps in force at one agent: its relocation layers with their entries.
///
///     let maps = try await backend.agent("kiosk-7").maps(at: "kiosk://home")
///     for entry in maps.acting { print(entry.layer, entry.number, entry.entry) }
public struct AgentMaps: Sendable, Hashable {
    /// The agent.
    public let agent: String
    /// In the order in which they act, a later one over those before.
    public private(set) var layers: [Layer] = []
    /// Whether values of secret keys are masked, so that the entries can't be sent again.
    public private(set) var isMasked = false
    /// When the agent reported it, by this machine's clock, in milliseconds since 1970.
    public let asOf: Int64
    /// Where the URL leads that was asked about; nil when none was.
    public package(set) var resolved: ResolvedRoute?

    /// The pages of one agent, in their order.
    ///
    /// - Parameter clockError: How far the agent's clock is ahead, in milliseconds: its times are corrected by it, as far
    ///   as they are not a document's own.
    /// - Throws: ``BackendError`` when the map changed while it was read, or a page is not as the protocol has it.
    init(_ agent: String, pages: [JSONValue], asOf now: Int64, clockError: Int64 = 0)
        throws(BackendError)
    {
        self.agent = agent
        asOf = now
        for page in pages {
            do throws(Failure) {
                try add(page, clockError)
            } catch {
                throw BackendError(.refused, "read the maps of \(agent): \(error.detail)")
            }
        }
    }

    private mutating func add(_ page: JSONValue, _ clockError: Int64 = 0) throws(Failure) {
        isMasked = isMasked || page["masked"] == true
        for json in page["layers"]?.arrayValue ?? [] { try add(MapLayer(json).corrected(by: clockError)) }
    }

    private mutating func add(_ layer: MapLayer) throws(Failure) {
        guard let last = layers.last?.wire, last.name == layer.name else {
            layers.append(Layer(wire: layer))
            return
        }
        guard last.digest == layer.digest, last.count == layer.count else {
            throw Failure(.busy, "they changed meanwhile; try again")
        }
        layers[layers.count - 1].wire.entries += layer.entries
    }

    /// The layer of that name: `agent`, `patch`, `@` and the name of a group, or one of the program's own.
    public func layer(_ name: String) -> Layer? { layers.first { $0.name == name } }

    /// The entries that redirect the URL that was asked about, in the order in which they do, and behind them those that close
    /// or gate it.
    ///
    /// A path that an entry deletes is not redirected: ``ResolvedRoute/failure`` names that entry.
    public var acting: [Entry] {
        guard let resolved else { return [] }
        let places = resolved.hops.map { ($0.layer, $0.entry) } + resolved.acting.map { ($0.layer, $0.entry) }
        return places.compactMap { name, number in
            name.flatMap(layer)?.entries.first { $0.number == number }
        }
    }

    /// The layers that have an effect, as a router takes them.
    package var relocationLayers: [RelocationLayer] {
        layers.filter { $0.state == .active }.map {
            RelocationLayer(name: $0.name, entries: $0.wire.relocationEntries)
        }
    }

    /// How many entries have an effect, and how many have none.
    package var counts: (active: Int, inactive: Int) {
        let entries = layers.flatMap(\.wire.entries)
        let active = entries.count { $0.state == .active }
        return (active, entries.count - active)
    }

    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "agent": .string(agent), "layers": .array(layers.map(\.wire.json)), "asOf": .int(asOf),
        ]
        if isMasked { members["masked"] = true }
        if let resolved { members["at"] = resolved.json }
        return .object(members)
    }
}

/// As `waypost map --json` prints it.
extension AgentMaps: Codable {
    /// Reads what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        self = try decoder.read { (json) throws(Failure) in try AgentMaps(json) }
    }

    /// Writes it as `waypost map --json` does.
    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

    private init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        agent = try fields.required("agent", fields.text("agent"))
        asOf = try fields.clamped("asOf", to: 0...Fields.latestTime) ?? 0
        try add(json)
        resolved = try fields["at"].map { (json) throws(Failure) in try ResolvedRoute(json) }
    }
}

extension MapLayer {
    fileprivate func corrected(by clockError: Int64) -> MapLayer {
        var layer = self
        layer.since = since?.subtracting(clamping: clockError)
        if let at = refused?.at {
            layer.refused?.at = at.subtracting(clamping: clockError)
        }
        return layer
    }

    /// Its entries as a router takes them; without those that this version does not know.
    var relocationEntries: [RelocationEntry] {
        entries.compactMap { try? RelocationEntry($0.content, index: $0.number - 1) }
    }
}
