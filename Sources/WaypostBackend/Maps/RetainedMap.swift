import MQTTLink
import WaypostMessages

/// The map that the broker keeps for an agent or a group, and its replacement: the one way to it for what sends maps at
/// once, so that an older one takes the place of a newer one only where that is meant.
///
/// A roll-out reads the topic all the time; `RolloutDirector` pauses it when another map comes.
enum RetainedMap {
    /// Why a map may not take the place of the one that is kept; nil where it may.
    static func objection(
        to revision: Int64?, over kept: MapPlan.Retained?, of audience: Audience
    ) -> MapObjection? {
        // What has no revision says itself that it replaces all.
        guard let revision, let old = kept?.revision, revision <= old else { return nil }
        let other = revision == old ? "with other content, " : ""
        return MapObjection(
            kind: .older,
            text:
                "rev \(revision) is not newer than rev \(old), \(other)which the broker keeps for \(audience)"
        )
    }
}

extension BackendSession {
    /// Publishes a map that the broker is to keep, after a look at the one that it keeps now.
    ///
    /// - Parameter saw: Called with what else comes meanwhile.
    /// - Throws: ``BackendError`` of kind `notSent` when that is newer, unless `allowed` has ``MapObjection/Kind/older``;
    ///   of kind `noBroker` when the broker does not say which one it keeps.
    func replaceMap(
        with map: Relocation, of audience: Audience, allowing allowed: Set<MapObjection.Kind>,
        _ saw: (MQTTMessage) -> Void
    ) async throws {
        let message = try map.message(to: audience, topics)
        if !allowed.contains(.older), try await subscribe(message.topic) {
            var kept: [UInt8] = []
            try await readRetained { found in
                if found.topic == message.topic { kept = found.payload }
                saw(found)
            }
            let old = Relocation(document: kept, .map)
            let retained = MapPlan.Retained(
                revision: old.document?.revision, digest: old.digest)
            if old.digest != map.digest {
                try [RetainedMap.objection(to: map.document?.revision, over: retained, of: audience)]
                    .compactMap(\.self).check(allowed)
            }
        }
        try await publish(message)
    }
}
