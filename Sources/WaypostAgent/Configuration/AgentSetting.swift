import MQTTLink
package import Waypost
import WaypostMessages

/// A setting of an agent: the one table from which options, configuration file, environment, help, what a SIGHUP changes
/// and the documentation follow; for a number also the check of a value and the limit in health.
package struct AgentSetting: Sendable {
    /// What its value is.
    package enum Kind: Sendable {
        case number(AgentNumber)
        /// A text, with the name that the help has for it.
        case text(String)
        case integer
        /// One of these texts, with the name that the help has for them.
        case choice(String, [String])
        case file(String, extensions: [String])
        case directory
        /// May be given several times.
        case list(String)
        case flag
    }

    /// What SIGHUP does with another value while the agent runs.
    package enum Reload: Sendable {
        /// It changes at once.
        case atOnce
        /// The agent connects again with it, also when what is in the file has changed.
        case reconnect
        /// The log names it, and it waits for a restart.
        case restart
    }

    /// The name of the option, of the key in the file and, in capitals behind `WAYPOST_`, of the variable.
    package let name: String
    package let kind: Kind
    /// One sentence for `--help`.
    package let meaning: String
    /// The value when it is not set, for people; nil where that says nothing.
    package let standard: String?
    /// What else there is to say.
    package let note: String?
    /// What SIGHUP does with another value.
    package let reload: Reload
    /// Whether two configurations differ in it.
    fileprivate let differs: @Sendable (AgentConfiguration, AgentConfiguration) -> Bool

    package init(
        _ name: String, _ kind: Kind, _ meaning: String, standard: String? = nil, note: String? = nil,
        reload: Reload = .restart,
        differs: @escaping @Sendable (AgentConfiguration, AgentConfiguration) -> Bool = { _, _ in false }
    ) {
        self.name = name
        self.kind = kind
        self.meaning = meaning
        self.standard = standard
        self.note = note
        self.reload = reload
        self.differs = differs
    }

    package init(_ number: AgentNumber) {
        let range = "\(number.range.lowerBound) to \(number.range.upperBound)"
        self.init(
            number.name, .number(number), number.meaning, standard: "\(number.standard); \(range)",
            reload: number.changesAtRunTime ? .atOnce : .restart,
            differs: { number.get($0) != number.get($1) })
    }

    /// That two configurations differ in this value.
    private static func differ<Value: Equatable & SendableMetatype>(
        _ value: @escaping @Sendable (AgentConfiguration) -> Value
    ) -> @Sendable (AgentConfiguration, AgentConfiguration) -> Bool {
        { value($0) != value($1) }
    }

    /// Every setting.
    package static let all = others + broker + AgentNumber.all.map(AgentSetting.init)

    /// Where the broker is and how to log in: what every command has that uses one.
    package static let broker: [AgentSetting] = [
        AgentSetting(
            "broker", .list("url"),
            "mqtt://host:1883, mqtts://host:8883 or unix:///path. May be repeated; they are tried in turn.",
            standard: "mqtt://127.0.0.1:1883", differs: differ(\.link.brokers)),
        AgentSetting(
            "root", .text("root"), "The prefix of every topic.", standard: "waypost/v1",
            differs: differ(\.root)),
        AgentSetting("username", .text("username"), "The user name for the broker.", reload: .reconnect),
        AgentSetting(
            "accounts", .integer,
            "How many user names you have at the broker: ops, ops.2, ops.3, … A command takes one that is free.",
            standard: "1"),
        AgentSetting(
            "password-file", .file("file", extensions: []),
            "A file whose first line is the password; or set WAYPOST_PASSWORD.", reload: .reconnect),
        AgentSetting(
            "ca-file", .file("file", extensions: []), "PEM certificates of trusted authorities.",
            standard: "the system's", reload: .reconnect),
        AgentSetting(
            "cert-file", .file("file", extensions: []), "The client's PEM certificate, for mutual TLS.",
            reload: .reconnect),
        AgentSetting(
            "key-file", .file("file", extensions: []), "The PEM key of that certificate.", reload: .reconnect),
        AgentSetting(
            "alpn", .text("protocol"),
            "The application protocol for TLS, where several share a port: x-amzn-mqtt-ca at AWS IoT Core on 443.",
            reload: .reconnect),
        AgentSetting(
            "proxy", .text("url"),
            "A SOCKS5 proxy through which brokers are reached: socks5://user:password@proxy.example:1080.",
            note: "Through it MQTT 3.1.1 is spoken.", differs: differ(\.link.proxy)),
        AgentSetting(
            "mqtt", .choice("version", ["5", "3.1.1", "auto"]), "The MQTT version: 5, 3.1.1 or auto.",
            standard: "auto, 5 first", differs: differ(\.link.protocolVersion)),
    ]

    /// What else is no number with a range.
    package static let others: [AgentSetting] = [
        AgentSetting(
            "agent", .text("id"),
            "The agent's name, as it appears in topics; %m is the machine's id, %H the host's name, %i WAYPOST_INSTANCE.",
            differs: differ(\.agent)),
        AgentSetting(
            "group", .list("group"),
            "A group that the agent belongs to; may be repeated. Every agent is in the group all.",
            differs: differ(\.groups)),
        AgentSetting(
            "own-groups", .flag,
            "The agent is in the groups of its own settings alone: what waypost groups writes is refused.",
            differs: differ(\.keepsOwnGroups)),
        AgentSetting(
            "build", .text("version"), "The version of the app, for conditions of maps: 2.4.1.",
            differs: differ(\.client.build)),
        AgentSetting(
            "locale", .text("locale"), "The language and region, for conditions of maps: de-AT.",
            differs: differ(\.client.locale)),
        AgentSetting(
            "label", .list("name=value"),
            "A label of the client, for conditions of maps: region=eu. May be repeated.",
            differs: differ(\.client.labels)),
        AgentSetting(
            "state", .directory, "The directory for data that must survive a restart.",
            standard: "$STATE_DIRECTORY, else ~/.local/state/waypost/ID", differs: differ(\.stateDirectory)),
        AgentSetting(
            "fresh-state", .flag,
            "Rename a damaged state file and start with a new one; an intact file is kept.",
            note:
                "Also for a file that is missing, or older than what was stored. The agent then forgets which commands ran."
        ),
        AgentSetting(
            "routes", .file("file", extensions: ["json"]),
            "Placeholder routes from a list exported by TheRouter; each counts how often it is opened."),
        AgentSetting(
            "prefer-first", .flag, "Return to the first --broker when it is available again.",
            note: "Without it the agent stays with the broker that it found.",
            differs: differ(\.link.prefersFirstBroker)),
        AgentSetting("demo", .flag, "Load the screens and services of the demo."),
        AgentSetting(
            "log-level", .choice("level", ["v", "d", "i", "w", "e", "f"]),
            "The lowest level of events that are published: v d i w e f.", standard: "i",
            reload: .atOnce),
        AgentSetting(
            "durability", .choice("mode", Durability.allCases.map(\.rawValue)),
            "How safely the agent stores commands and results: full (on disk before it acknowledges), normal, or off (a crash loses the last 0.1 s).",
            standard: "full", differs: differ(\.durability)),
        AgentSetting(
            "trust-key", .list("[id=]file"),
            "A public key (PEM or base64, Ed25519); maps must be signed with it. May be repeated.",
            note: "ID is the key id in signatures. Default: the file's name.", differs: differ(\.trust)),
        AgentSetting(
            "trust-threshold", .integer, "How many of the trusted keys must sign a map.",
            standard: "1"),
        AgentSetting(
            "signed-commands", .flag, "Commands must be signed, too. Signed commands are always checked."),
        AgentSetting(
            "expired-maps", .choice("what", MapExpiry.allCases.map(\.rawValue)),
            "What happens to the map in force when its exp has passed: keep or revert.", standard: "keep",
            differs: differ(\.mapExpiry)),
        AgentSetting(
            "redact-key", .list("key"),
            "A key whose values are masked in everything the agent publishes, like those of password and token; may be repeated.",
            differs: differ(\.redactedKeys)),
        AgentSetting(
            "renew", .list("word"),
            "The program that makes a newer certificate when the one in use is due; each argument in a --renew of its own.",
            note: "It writes CERT-FILE.new, and KEY-FILE.new if the key is another."),
        AgentSetting(
            "metrics", .text("host:port"),
            "Serve counters and timers as Prometheus text at http://HOST:PORT/metrics."),
        AgentSetting(
            "local-port", .integer,
            "A port of the loopback for a page of this machine's browser: it may POST commands to /command.",
            note: "It needs --local-token-file, and --local-origin for pages."),
        AgentSetting(
            "local-token-file", .file("file", extensions: []),
            "A file whose first line is the token that such a page sends, of 16 characters and more."),
        AgentSetting(
            "local-origin", .list("origin"),
            "The origin of a page that may use --local-port: https://kiosk.example. May be repeated."),
    ]
}

extension AgentConfiguration {
    /// The limits as they stand in health.
    package var limitsDocument: [String: JSONValue] {
        var document: [String: JSONValue] = [
            "jsonDepth": .int(Int64(limits.json.maximumDepth)),
            "objectKeys": .int(Int64(limits.json.maximumKeys)),
            "stringBytes": .int(Int64(limits.json.maximumStringBytes)),
            "correlationBytes": .int(Int64(AgentLimits.correlationBytes)),
            "mapEntries": .int(Int64(MapDocument.maximumEntries)),
            "handlerDeadlineMs": .int(limits.handlerDeadline.milliseconds),
        ]
        for setting in AgentNumber.all {
            if let name = setting.healthName { document[name] = .int(Int64(setting.get(self))) }
        }
        return document
    }

    /// The names of the settings that differ and can't change while the agent runs.
    func fixedDifferences(from new: AgentConfiguration) -> [String] {
        AgentSetting.all.filter { $0.reload == .restart && $0.differs(self, new) }.map(\.name)
    }

    /// This configuration with what may change while the agent runs taken from another.
    func changed(to new: AgentConfiguration) -> AgentConfiguration {
        var changed = self
        for setting in AgentNumber.all where setting.changesAtRunTime {
            setting.set(&changed, setting.get(new))
        }
        changed.logLevel = new.logLevel
        changed.link.credentials = new.link.credentials
        changed.link.tls = new.link.tls
        return changed
    }
}
