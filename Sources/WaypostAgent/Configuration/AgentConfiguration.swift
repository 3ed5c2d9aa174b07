public import MQTTLink
public import Tracing
public import Waypost
import WaypostMessages

/// What an agent needs to know before it starts.
public struct AgentConfiguration: Sendable {
    /// The agent's name on the wire: `[A-Za-z0-9_-]{1,64}`.
    public var agent: String
    /// The groups it is in, beside `all`; their maps lie over each other in this order.
    public var groups: [String]
    /// Whether ``groups`` are all, whatever the release role writes into the agent's document of groups; false unless
    /// set.
    public var keepsOwnGroups: Bool
    /// What the conditions of maps ask about this client; what the router knows unless set.
    public var client: ClientFacts
    /// The first levels of every topic; `waypost/v1` unless set.
    public var root: String
    /// The directory for what must survive; created when missing.
    public var stateDirectory: String
    /// Whether a state file that is damaged, lost, or older than what was stored is set aside and a new one begun; false
    /// unless set.
    ///
    /// An intact one always stays. The commands that ran and the revisions of maps are forgotten with it.
    public var freshState: Bool
    /// Whether the agent reports its state to systemd, when systemd asks for it; false unless set.
    ///
    /// For a process that is the agent and nothing else: `READY=1`, `STATUS=`, `STOPPING=1`, and `WATCHDOG=1` as
    /// long as the link's loop runs.
    public var tellsServiceManager: Bool
    /// When a commit counts as done; ``Durability/full`` unless set.
    public var durability: Durability
    /// The brokers, and how to reach and trust them.
    ///
    /// Client id, subscriptions and session are filled in by the agent.
    public var link: MQTTLinkConfiguration
    /// The limits of everything.
    public var limits: AgentLimits
    /// The lowest level of log events that are published: one of `v d i w e f`; `i` unless set.
    public var logLevel: String
    /// Keys whose values are masked in all that leaves the process; none unless set.
    ///
    /// Beside those that end with password, token, secret, authorization, cookie or api_key. Case, `-` and `_` do not
    /// count.
    public var redactedKeys: [String]
    /// The keys that must have signed maps; none unless set.
    public var trust: MapTrust
    /// What happens to a map in force whose `exp` passes; ``MapExpiry/keep`` unless set.
    public var mapExpiry: MapExpiry
    /// How often health is published; 30 s unless set, ± 10 %.
    public var healthInterval: Duration
    /// Makes a newer certificate when the one in use is due: it writes ``CertificateFiles/newCertificate``, and a key of its own
    /// before; nil, the default, takes those that another program puts there.
    ///
    /// What is there is tried on a connection of its own, and takes the place of the one in use only after that.
    public var renewCertificate: (@Sendable (CertificateFiles) async throws -> Void)?
    /// After which part of its life a certificate is due, in percent; 66 unless set.
    public var renewAfter: Int
    /// The QoS of the subscriptions to the topics of groups, 0 or 1; 1 unless set.
    ///
    /// 0 is for a broker that delivers them wrongly at QoS 1, a cluster of NATS before 2.14; what is sent to a group while
    /// the agent is away then does not reach it.
    public var groupQoS: Int
    /// How long a stop may take; 10 s unless set.
    public var stopWithin: Duration
    /// Gets a span of each command; the tracer of `InstrumentationSystem` when the agent is made, unless set.
    public var tracer: (any Tracer)?

    /// A configuration with the defaults for what is not named.
    public init(agent: String, groups: [String] = [], stateDirectory: String, link: MQTTLinkConfiguration) {
        self.agent = agent
        self.groups = groups
        keepsOwnGroups = false
        client = ClientFacts()
        root = "waypost/v1"
        self.stateDirectory = stateDirectory
        freshState = false
        tellsServiceManager = false
        durability = .full
        self.link = link
        limits = AgentLimits()
        logLevel = "i"
        redactedKeys = []
        trust = MapTrust()
        mapExpiry = .keep
        healthInterval = .seconds(30)
        renewCertificate = nil
        renewAfter = 66
        groupQoS = 1
        stopWithin = .seconds(10)
    }
}

/// Why no agent can be made from a configuration.
public struct AgentConfigurationError: Error, Sendable, CustomStringConvertible {
    /// The setting and what is wrong with it.
    public let description: String
}

/// When a commit counts as done.
public enum Durability: String, Sendable, Hashable, CaseIterable {
    /// Every commit is on the disk before it returns: what the guarantees rest on.
    case full
    /// Survives a crash of the process, not a loss of power.
    case normal
    /// Nothing waits for the store: a command is acknowledged, and its reply leaves, up to a tenth of a second before
    /// they are in it, as with `synchronous_commit = off` of PostgreSQL.
    ///
    /// A crash of the process forgets that much: such a command is lost, or runs again when it comes again.
    case off

    /// The value of SQLite's `PRAGMA synchronous`.
    var pragma: String {
        switch self {
        case .full: "FULL"
        // Less than that could leave a damaged file behind a loss of power.
        case .normal, .off: "NORMAL"
        }
    }
}

/// What happens to a map in force whose `exp` passes.
public enum MapExpiry: String, Sendable, Hashable, CaseIterable {
    /// It stays; health turns red and the end is reported every hour.
    case keep
    /// It is left out until a new one comes; health turns red and the end is reported every hour.
    case revert
}

extension AgentConfiguration {
    func validatedTopics() throws(AgentConfigurationError) -> Topics {
        guard Name.isValid(agent) else {
            throw fault("agent", agent, "must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        for group in groups where !Name.isGroup(group) {
            throw fault("group", group, "must be 1 to 64 characters of A-Z a-z 0-9 _ -, and not all")
        }
        if let fault = client.fault { throw AgentConfigurationError(description: fault) }
        guard let topics = Topics(root: root) else {
            throw fault("root", root, Topics.fault(in: root) ?? "is not a topic prefix")
        }
        return topics
    }

    func validatedLogLevel() throws(AgentConfigurationError) -> LogLevel {
        guard let level = LogLevel(letter: logLevel) else {
            throw fault("log level", logLevel, "must be one of v d i w e f")
        }
        return level
    }

    func validateNumbers() throws(AgentConfigurationError) {
        for setting in AgentNumber.all where !setting.range.contains(setting.get(self)) {
            throw fault(
                setting.name, "\(setting.get(self))",
                "must be \(setting.range.lowerBound) to \(setting.range.upperBound) \(setting.unit)")
        }
    }

    func validateTrust() throws(AgentConfigurationError) {
        guard trust.count > 0 else {
            guard !trust.coversCommands else {
                throw AgentConfigurationError(
                    description:
                        "signed commands are asked for, but no key is trusted that could have signed them")
            }
            return
        }
        let most = min(trust.count, TrustedKeys.maximumThreshold)
        guard (1...most).contains(trust.threshold) else {
            throw fault(
                "trust threshold", "\(trust.threshold)",
                "must be 1 to \(most); there are \(trust.count) keys, and at most "
                    + "\(TrustedKeys.maximumThreshold) signatures can be required")
        }
    }

    private func fault(_ setting: String, _ value: String, _ rule: String) -> AgentConfigurationError {
        AgentConfigurationError(description: "\(setting) \(value.debugDescription) \(rule)")
    }
}

/// The files of an agent's certificate, and those beside them in which a newer one comes.
public struct CertificateFiles: Sendable, Hashable {
    /// The certificate in use, PEM.
    public let certificate: String
    /// Its key, PEM.
    public let key: String

    /// Where a newer certificate comes: the name of the one in use, and `.new`.
    public var newCertificate: String { certificate + ".new" }
    /// Where its key comes, if it has another; it must be there before the certificate is.
    public var newKey: String { key + ".new" }

    package init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
}
