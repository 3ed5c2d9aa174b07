import Logging
import MQTTLink
import Waypost
import WaypostMessages

extension Agent {
    /// Takes over from a configuration what can change while the agent runs.
    ///
    /// That is the level of published events, what one sender may send (``AgentLimits/intakeRate``,
    /// ``AgentLimits/intakeBurst``), the credentials, and the files for TLS. When credentials or certificates are
    /// others, also in the same files, the link connects anew; the broker keeps the session meanwhile.
    /// - Returns: the settings that differ from those at the start and can't change now.
    /// - Throws: ``AgentConfigurationError`` naming the setting; nothing has changed then.
    public func reload(_ new: AgentConfiguration) throws(AgentConfigurationError) -> [String] {
        _ = try new.validatedTopics()
        let level = try new.validatedLogLevel()
        events.setLevel(level)
        intake.setSenderLimits(rate: new.limits.intakeRate, burst: new.limits.intakeBurst)
        var limits = configuration.limits
        limits.intakeRate = new.limits.intakeRate
        limits.intakeBurst = new.limits.intakeBurst
        health.update {
            $0.limits = limits
            $0.certificateFile = new.link.tls?.certificateFile
        }
        if let link = renewal.withLock({ $0.mustRenew(for: new.link) }) {
            logger.notice("connecting anew with renewed credentials or certificates")
            link.renew(credentials: new.link.credentials, tls: new.link.tls)
        }
        events.log(.info, "Agent", "configuration read again")
        publishHealth()
        return differences(new, limits)
    }

    private func differences(_ new: AgentConfiguration, _ limits: AgentLimits) -> [String] {
        let old = configuration
        return [
            ("agent", old.agent != new.agent), ("group", old.groups != new.groups),
            ("root", old.root != new.root), ("state", old.stateDirectory != new.stateDirectory),
            ("durability", old.durability != new.durability),
            ("broker", old.link.brokers != new.link.brokers),
            ("mqtt", old.link.protocolVersion != new.link.protocolVersion),
            ("health-interval", old.healthInterval != new.healthInterval),
            ("keepalive", old.link.keepAlive != new.link.keepAlive),
            ("dedupe-keys", limits.dedupeKeys != new.limits.dedupeKeys),
            ("outbox-records", limits.outboxRecords != new.limits.outboxRecords),
            ("commit-entries", limits.commitEntries != new.limits.commitEntries),
            ("expired-maps", old.mapExpiry != new.mapExpiry), ("trust-key", old.trust != new.trust),
        ].filter(\.1).map(\.0)
    }
}

/// Knows whether the link has to connect anew: what it signs in with, and the state of the files behind it.
struct LinkRenewal: Sendable {
    /// The link, while the agent runs.
    var link: MQTTLink?
    private var credentials: Credentials?
    private var tls: TLSOptions?
    private var files: [FileMark?]

    init(_ configuration: MQTTLinkConfiguration) {
        credentials = configuration.credentials
        tls = configuration.tls
        files = Self.marks(configuration.tls)
    }

    /// The link, when it has to; from now on the new ones count as known.
    mutating func mustRenew(for new: MQTTLinkConfiguration) -> MQTTLink? {
        let marks = Self.marks(new.tls)
        defer {
            credentials = new.credentials
            tls = new.tls
            files = marks
        }
        return credentials != new.credentials || tls != new.tls || files != marks ? link : nil
    }

    private static func marks(_ tls: TLSOptions?) -> [FileMark?] {
        [tls?.caFile, tls?.certificateFile, tls?.keyFile].map { $0.flatMap(FileMark.init) }
    }
}
