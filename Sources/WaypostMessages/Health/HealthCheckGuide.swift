/// What a health check means and what to do when it failed or is not known: what `waypost explain` prints, and the
/// advice beside each check.
package struct HealthCheckGuide: Sendable {
    package let name: String
    /// When it fails.
    package let failsWhen: String
    package let advice: String

    /// The entry of a check, by its name in any case.
    package static func find(_ name: String) -> HealthCheckGuide? {
        all.first { $0.name == name.lowercased() }
    }

    package static let all: [HealthCheckGuide] = [
        .init(
            "link", "there is no connection to a broker; not known before the first try has ended",
            "do what the reason suggests; the agent reconnects by itself"),
        .init(
            "store", "the last commit failed, or 80 % of store-bytes are used",
            "free disk space, or restore the state directory; or raise store-bytes"),
        .init(
            "ids", "80 % of dedupe-keys are used; the detail names the sender with the most",
            "find out why that sender sends so much; raise dedupe-keys, or lower sender-share"),
        .init(
            "outbox", "failure reports fill their space on disk; new commands get 503 OUTBOX",
            "restore the connection to the broker; raise outbox-records or outbox-bytes"),
        .init(
            "publishes",
            "the broker refused a message on this connection, or one that was refused is still kept; not known without a connection",
            "see the reason in the detail: at the broker, correct the agent's rights, its quota or its packet limit"
        ),
        .init(
            "clock", "the agent's clock was stepped, or shows a time before the build",
            "set the clock of the agent's machine: timedatectl set-ntp true"),
        .init(
            "loop", "the network thread does not respond",
            "check for a hanging disk or an overloaded machine"),
        .init(
            "handlers", "handlers block all threads (handler-threads)",
            "find out what they wait for; restart the agent"),
        .init(
            "map",
            "a map is past its exp; a stored layer does not fit this build or is damaged on the disk; or too few trusted keys have signed it",
            "send a newer map, or the same again if it is damaged; map/applied says which entries are inactive"
        ),
        .init(
            "modules", "a module could not be set up; not known while one is being set up",
            "fix what the reason names, and restart the agent"),
        .init(
            "routes",
            "the list of routes or of services does not fit into one message; the rest is missing in routes or contract",
            "raise the broker's packet limit and packet-bytes"),
        .init(
            "subscriptions", "the broker refused one; not known without a connection",
            "allow the agent to read these topics in the broker's rules"),
        .init(
            "echo", "the agent's message to itself did not come back; not known without a connection",
            "allow the agent to write and read its echo topic in the broker's rules"),
        .init(
            "commands",
            "the broker took the agent's command to itself and did not deliver it; not known until a command arrives, if the agent may not send one to itself",
            "allow the agent to read its cmd/+ in the broker's rules; to test it: waypost ping"
        ),
        .init(
            "certificate", "with TLS: a certificate has expired, or expires within 14 days",
            "renew the certificate"),
    ]

    private init(_ name: String, _ failsWhen: String, _ advice: String) {
        self.name = name
        self.failsWhen = failsWhen
        self.advice = advice
    }
}
