import Logging
import MQTTLink
import Threading
import Waypost
import WaypostMessages

extension Agent {
    /// Takes from a configuration what can change while the agent runs.
    ///
    /// That is the level of published events, what one sender may send (``AgentLimits/intakeRate``,
    /// ``AgentLimits/intakeBurst``), the credentials, and the files for TLS. When credentials or certificates have
    /// changed, also within the same files, the link connects again; the broker keeps the session meanwhile.
    /// - Returns: the settings that differ from those at the start and need a restart.
    /// - Throws: ``AgentConfigurationError`` naming the setting; nothing has changed then.
    public func reload(_ new: AgentConfiguration) throws(AgentConfigurationError) -> [String] {
        _ = try new.validatedTopics()
        let level = try new.validatedLogLevel()
        try new.validateNumbers()
        events.setLevel(level)
        intake.setSenderLimits(rate: new.limits.intakeRate, burst: new.limits.intakeBurst)
        if let link = reloadable.withLock({ $0.change(to: new) }) {
            logger.notice("reconnecting with renewed credentials or certificates")
            link.renew(credentials: new.link.credentials, tls: new.link.tls)
        }
        reporter.log(.info, "Agent", "configuration reloaded")
        publishHealth()
        return configuration.fixedDifferences(from: new)
    }

    /// What may change while the agent runs.
    struct Reloadable: Sendable {
        /// The link, while the agent runs.
        var link: (any MessageLink)?
        /// The settings in force.
        private(set) var configuration: AgentConfiguration
        /// Its limits, as health has them.
        private(set) var limits: [String: JSONValue]
        /// How much did not fit into the published lists, by what they are of.
        var missing: [String: Int] = [:]
        private let disk: any CertificateDisk
        private var files: [FileMark?]

        init(_ configuration: AgentConfiguration, on disk: any CertificateDisk) {
            (self.configuration, self.disk) = (configuration, disk)
            limits = configuration.limitsDocument
            files = Self.marks(configuration.link.tls, on: disk)
        }

        /// Takes what may change; returns the link when it has to connect again.
        mutating func change(to new: AgentConfiguration) -> (any MessageLink)? {
            let before = configuration
            let marks = Self.marks(new.link.tls, on: disk)
            let mustRenew =
                before.link.credentials != new.link.credentials || before.link.tls != new.link.tls
                || files != marks
            configuration = before.changed(to: new)
            limits = configuration.limitsDocument
            files = marks
            return mustRenew ? link : nil
        }

        private static func marks(_ tls: TLSOptions?, on disk: any CertificateDisk) -> [FileMark?] {
            [tls?.caFile, tls?.certificateFile, tls?.keyFile].map { $0.flatMap(disk.mark(of:)) }
        }
    }
}
