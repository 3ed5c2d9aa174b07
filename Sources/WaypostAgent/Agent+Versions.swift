import MQTTLink
import Waypost

/// Which brokers are spoken to with MQTT 3.1.1, over a restart: one that never answers 5 would else take a refused
/// connection, and perhaps a report of it, at each start.
extension Agent {
    private static let versionsKey = "mqtt-3.1.1"

    /// What the agent has learned of its brokers before.
    var spokenVersions: [BrokerURL: VersionMemory] {
        let (known, now) = (storedVersions(), clock.wall())
        return configuration.link.brokers.reduce(into: [:]) { versions, broker in
            guard let entry = known[broker.description], let until = entry["until"]?.intValue, until > now
            else { return }
            versions[broker] = VersionMemory(
                left: .milliseconds(until - now), wasSilent: entry["silent"] == true)
        }
    }

    /// Keeps how a broker was spoken to, if that is news.
    func rememberVersion(_ connection: Connection) {
        var known = storedVersions()
        let broker = connection.broker.description
        if let memory = connection.speaks311 {
            // Known for another time: the clock may have been set meanwhile.
            guard known[broker] == nil || spokenVersions[connection.broker] == nil else { return }
            known[broker] = [
                "until": .int(clock.wall() + memory.left.milliseconds), "silent": .bool(memory.wasSilent),
            ]
        } else if known.removeValue(forKey: broker) == nil {
            return
        }
        let brokers = Set(configuration.link.brokers.map(\.description))
        let kept = known.filter { brokers.contains($0.key) }
        let text = kept.isEmpty ? nil : JSONValue.object(kept).description
        // Without it the next start tries 5 once more, and that is all.
        try? store.commit { try $0.setText(Self.versionsKey, text) }
    }

    private func storedVersions() -> [String: JSONValue] {
        let text = try? store.commit { try $0.text(Self.versionsKey) }
        return text.flatMap { try? JSONValue(parsing: $0) }?.objectValue ?? [:]
    }
}
