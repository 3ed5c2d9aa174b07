import MQTTLink

/// Which program a broker is, as far as it shows to a client.
enum BrokerEngine: Sendable, Hashable {
    case mosquitto
    /// Before 3.13, which is the first one with MQTT 5.
    case oldRabbitMQ
    case rabbitMQ
    case nats
    case emqx
    case hiveMQ

    /// What is there to go by.
    struct Signs: Sendable {
        var version = MQTTVersion.v5
        /// Whether MQTT 5 was met with silence, or with a refusal.
        var silentOn5 = false
        var features = BrokerFeatures()
        var receiveMaximum = UInt16.max
        /// What the broker publishes on ``BrokerVersion/topic``.
        var published: String?
        /// What EMQX publishes on ``BrokerEngine/descriptions``.
        var description: String?
        /// Whether it refused ``BrokerEngine/ownFilter``.
        var keepsOwnFilter = false

        init() {}

        init(_ connection: Connection) {
            version = connection.version
            silentOn5 = connection.wasSilentOn5
            features = connection.features
            receiveMaximum = connection.receiveMaximum
        }
    }

    /// Where each node of EMQX describes itself; who may not read it gets nothing.
    static let descriptions = "$SYS/brokers/+/sysdescr"
    /// What NATS needs for itself and lets no client subscribe to.
    static let ownFilter = "$MQTT/sub/doctor"

    /// Nil when it shows nothing that only one of them does.
    init?(_ signs: Signs) {
        if signs.published?.hasPrefix("mosquitto ") == true {
            self = .mosquitto
        } else if signs.description?.contains("EMQX") == true {
            self = .emqx
        } else if signs.version == .v311 {
            if signs.silentOn5 {
                self = .oldRabbitMQ
            } else if signs.keepsOwnFilter {
                self = .nats
            } else {
                return nil
            }
        } else if signs.features.forgetsDelayedRetainedWills {
            self = .rabbitMQ
        } else if signs.features.topicAliasMaximum == .max {
            self = .emqx
        } else if signs.receiveMaximum == 10, signs.features.topicAliasMaximum == 5 {
            self = .hiveMQ
        } else {
            return nil
        }
    }

    /// What is known of it that matters here; nil for mosquitto, of which its version says more.
    var finding: DoctorFinding? {
        guard let (name, sign, known) = text else { return nil }
        return DoctorFinding(
            "engine", .note, "it looks like \(name): \(sign)",
            advice: "\(known). What this one does: waypost doctor --try; settings: the page of \(page)")
    }

    private var page: String {
        switch self {
        case .mosquitto: "Brokers"
        case .oldRabbitMQ, .rabbitMQ: "OperatingRabbitMQ"
        case .nats: "OperatingNATS"
        case .emqx: "OperatingEMQX"
        case .hiveMQ: "OperatingHiveMQ"
        }
    }

    private var text: (name: String, sign: String, known: String)? {
        switch self {
        case .mosquitto: nil
        case .oldRabbitMQ:
            (
                "RabbitMQ before 3.13", "it ends MQTT 5 without an answer",
                "each node keeps retained messages of its own, and gives none to wildcards; queues must be quorum queues"
            )
        case .rabbitMQ:
            (
                "RabbitMQ from 3.13 on", "no QoS 2, no shared subscriptions",
                "each node keeps retained messages of its own; a delayed will is not kept, so that agents send theirs without a delay"
            )
        case .nats:
            (
                "NATS", "it refuses MQTT 5, and a topic of its own",
                "before 2.14 a cluster cuts topics with an @ at QoS 1, so that agents need --group-qos 0; without 3 replicas what waits for an agent is gone with its node"
            )
        case .emqx:
            (
                "EMQX", "its description, or 65 535 topic aliases",
                "it takes 1 000 retained messages a second and drops the rest, and keeps 1 000 messages for a client"
            )
        case .hiveMQ:
            (
                "HiveMQ", "10 messages in flight, 5 topic aliases",
                "it keeps 1 000 messages for a client that is away, and takes 10 at a time from one"
            )
        }
    }
}
