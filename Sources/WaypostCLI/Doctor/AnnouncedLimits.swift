import MQTTLink
import WaypostAgent

/// What a broker says of itself when it accepts a connection (MQTT 5.0, 3.2.2.3), as far as something follows from it.
struct AnnouncedLimits {
    let features: BrokerFeatures
    /// The largest packet that it takes, in bytes; nil for any.
    let packet: Int?

    init(_ connection: Connection) {
        self.init(features: connection.features, packet: connection.maximumPacketSize.map(Int.init))
    }

    init(features: BrokerFeatures, packet: Int?) { (self.features, self.packet) = (features, packet) }

    /// Whether agents and senders can't work with it, so that nothing else needs to be looked at.
    var isTooLittle: Bool { findings.contains { $0.status == .failed } }

    /// One finding for each; none of a broker that announces nothing.
    var findings: [DoctorFinding] {
        [qos, retained, wildcards, packets, keepAlive, clientID].compactMap(\.self)
    }

    private var qos: DoctorFinding? {
        guard features.maximumQoS < 2 else { return nil }
        guard features.maximumQoS == 0 else {
            return DoctorFinding(
                "announced", .note,
                "Maximum QoS 1: the broker takes nothing at QoS 2, which nothing here uses")
        }
        return DoctorFinding(
            "announced", .failed, "Maximum QoS 0: the broker takes and gives messages at QoS 0 only",
            advice: "commands and replies need QoS 1: raise it in the broker (mosquitto: max_qos 1 or 2)")
    }

    private var retained: DoctorFinding? {
        guard !features.retainAvailable else { return nil }
        return DoctorFinding(
            "announced", .failed, "Retain Available 0: the broker keeps no retained messages",
            advice: "states, maps and roll-outs are retained messages: allow them in the broker (mosquitto: "
                + "retain_available true)")
    }

    private var wildcards: DoctorFinding? {
        guard !features.wildcardsAvailable else { return nil }
        return DoctorFinding(
            "announced", .failed,
            "Wildcard Subscription Available 0: the broker takes no filters with wildcards",
            advice: "agents subscribe to cmd/+, and tools to all agents: allow wildcards in the broker")
    }

    /// The longest map of an agent with the usual limits.
    private var mapBytes: Int { AgentLimits().mapBytes }

    private var packets: DoctorFinding? {
        guard let packet else { return nil }
        let found = "Maximum Packet Size \(packet): the broker takes no larger packet"
        guard packet < mapBytes else { return DoctorFinding("announced", .note, found) }
        return DoctorFinding(
            "announced", .warning, found,
            advice: "a map may have \(mapBytes) bytes, and replies end with 413 beyond it: raise it in the "
                + "broker (mosquitto: max_packet_size 1048576)")
    }

    private var keepAlive: DoctorFinding? {
        guard let seconds = features.serverKeepAlive else { return nil }
        return DoctorFinding(
            "announced", .note,
            "Server Keep Alive \(seconds): "
                + (seconds == 0
                    ? "the broker ends no silent connection"
                    : "the broker ends a connection after \(Int(seconds) * 3 / 2) s of silence, whatever keepalive says")
        )
    }

    private var clientID: DoctorFinding? {
        guard let id = features.assignedClientID else { return nil }
        return DoctorFinding(
            "announced", .note,
            "Assigned Client Identifier \(id): the broker does not use the client id that was sent")
    }
}
