package import Waypost

/// Presence: whether an agent is there, retained on its `state` topic.
package struct AgentState: Sendable, Hashable {
    /// What made the agent, or the broker in its stead, say so.
    package enum Reason: String, Sendable, Hashable, CaseIterable {
        case birth, will, shutdown, refused
    }

    package var isOnline: Bool
    /// Raised before every CONNECT, so that a late will is never taken for a newer birth.
    package var epoch: Int64
    package var boot: String
    package var reason: Reason
    package var agent: String
    package var version: String
    /// The MQTT version spoken: 5, or 4 for 3.1.1.
    package var mqtt: Int

    package init(
        isOnline: Bool, epoch: Int64, boot: String, reason: Reason, agent: String, version: String, mqtt: Int
    ) {
        self.isOnline = isOnline
        self.epoch = epoch
        self.boot = boot
        self.reason = reason
        self.agent = agent
        self.version = version
        self.mqtt = mqtt
    }

    /// Whether it is news to somebody who has seen `known`.
    ///
    /// The will of an earlier connection may come after the birth of a later one; it is none.
    package func isNews(after known: AgentState?) -> Bool {
        guard let known, known.isOnline, !isOnline else { return true }
        return epoch >= known.epoch
    }

    /// Whether the agent is online, as far as this and the epoch of its health tell.
    ///
    /// A late will may have taken the place of the birth as the retained state. Health of a later connection gives
    /// it away, for that connection's own end would carry the later epoch.
    package func isOnline(withHealthOf epoch: Int64?) -> Bool {
        isOnline || (epoch.map { $0 > self.epoch } ?? false)
    }

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("state", isOnline ? "online" : "offline")
        json.member("epoch", epoch)
        json.member("boot", boot)
        json.member("why", reason.rawValue)
        json.member("agent", agent)
        json.member("version", version)
        json.member("mqtt", mqtt)
        json.endObject()
        return json.bytes
    }

    package init(_ json: JSONValue) throws(Rejection) {
        let fields = Fields(of: json)
        let why = try fields.required("why", fields.text("why"))
        guard let reason = Reason(rawValue: why) else {
            throw Rejection(.badField, "why \(why.debugDescription) is unknown")
        }
        let state = try fields.required("state", fields.text("state"))
        guard state == "online" || state == "offline" else {
            throw Rejection(.badField, "state must be online or offline; found \(state.debugDescription)")
        }
        self.init(
            isOnline: state == "online",
            epoch: try fields.required("epoch", fields.integer("epoch")),
            boot: try fields.text("boot") ?? "",
            reason: reason,
            agent: try fields.text("agent") ?? "",
            version: try fields.text("version") ?? "",
            mqtt: Int(clamping: try fields.integer("mqtt") ?? 0))
    }
}
