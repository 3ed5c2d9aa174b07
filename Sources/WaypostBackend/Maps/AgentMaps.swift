package import Waypost
package import WaypostMessages

/// The relocation layers of one agent, as it answered.
package struct AgentMaps: Sendable {
    package let agent: String
    /// In the order in which they act, a later one over those before.
    package private(set) var layers: [MapLayer] = []
    /// Whether values of secret keys are masked, so that the entries can't be sent again.
    package private(set) var isMasked = false
    /// By this machine's clock, in milliseconds since 1970.
    package let asOf: Int64

    /// The pages of one agent, in their order.
    ///
    /// - Parameter clockError: How far the agent's clock is ahead, in milliseconds: its times are corrected by it, as far
    ///   as they are not a document's own.
    /// - Throws: ``BackendError`` when the map changed while it was read, or a page is not as the protocol has it.
    package init(_ agent: String, pages: [JSONValue], asOf now: Int64, clockError: Int64 = 0)
        throws(BackendError)
    {
        self.agent = agent
        asOf = now
        for page in pages {
            isMasked = isMasked || page["masked"] == true
            for json in page["layers"]?.arrayValue ?? [] {
                do throws(Rejection) {
                    try add(MapLayer(json).corrected(by: clockError))
                } catch {
                    throw BackendError(.refused, "read the maps of \(agent): \(error.detail)")
                }
            }
        }
    }

    private mutating func add(_ layer: MapLayer) throws(Rejection) {
        guard let last = layers.last, last.name == layer.name else {
            layers.append(layer)
            return
        }
        guard last.digest == layer.digest, last.count == layer.count else {
            throw Rejection(.busy, "they changed meanwhile; try again")
        }
        layers[layers.count - 1].entries += layer.entries
    }

    package func layer(_ name: String) -> MapLayer? { layers.first { $0.name == name } }

    /// The layers that have an effect, as a router takes them.
    package var relocationLayers: [RelocationLayer] {
        layers.filter { $0.state == .active }.map {
            RelocationLayer(name: $0.name, entries: $0.relocationEntries)
        }
    }

    /// How many entries have an effect, and how many have none.
    package var counts: (active: Int, inactive: Int) {
        let entries = layers.flatMap(\.entries)
        let active = entries.count { $0.state == .active }
        return (active, entries.count - active)
    }

    /// Of the documents that were refused the newest.
    package var refused: AppliedMap.Refused? {
        layers.compactMap(\.refused).max { $0.at < $1.at }
    }

    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "agent": .string(agent), "layers": .array(layers.map(\.json)), "asOf": .int(asOf),
        ]
        if isMasked { members["masked"] = true }
        return .object(members)
    }
}

extension MapLayer {
    fileprivate func corrected(by clockError: Int64) -> MapLayer {
        var layer = self
        layer.since = since?.subtractingReportingOverflow(clockError).partialValue
        if let at = refused?.at {
            layer.refused?.at = at.subtractingReportingOverflow(clockError).partialValue
        }
        return layer
    }

    /// Its entries as a router takes them; without those that this version does not know.
    package var relocationEntries: [RelocationEntry] {
        entries.compactMap { try? RelocationEntry($0.json, index: $0.number - 1) }
    }
}
