package import Waypost

/// Presence: whether an agent is there, retained on its `state` topic.
package struct AgentState: Payload, Hashable {
    /// Why the state was published, by the agent or by the broker for it; a newer agent may have more reasons.
    package struct Reason: RawRepresentable, Sendable, Hashable, CaseIterable {
        /// The word on the wire.
        package let rawValue: String

        /// The reason of that name, known here or not.
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let birth = Reason(rawValue: "birth")
        package static let will = Reason(rawValue: "will")
        package static let shutdown = Reason(rawValue: "shutdown")
        static let refused = Reason(rawValue: "refused")

        /// Those of this version of the protocol.
        package static let allCases: [Reason] = [.birth, .will, .shutdown, .refused]
    }

    /// Why a connection ended or could not be made, or why the agent stopped.
    package struct Cause: Payload, Hashable {
        /// The longest detail that an agent publishes, in bytes.
        package static let maximumDetail = 512

        /// Nil for what has no code, such as a connection that was lost, or a stop.
        package var code: Code?
        package var detail = ""
        /// In milliseconds since 1970, by the agent's clock.
        package var at: Int64 = 0

        package init(_ code: Code?, _ detail: String, at: Int64) {
            self.code = code
            self.detail = detail
            self.at = at
        }

        package init() {}

        package mutating func describe(_ fields: inout PayloadFields) {
            var (number, name) = (code?.number, code?.name)
            fields.optional("at", &at, in: 0...Fields.latestTime, clamps: true)
            fields.optional("code", &number)
            fields.required("detail", &detail)
            fields.optional("name", &name)
            code = number.map { Code(number: $0, name: name ?? "?") }
        }

        /// `503 DISK: no space left`.
        package var text: String { (code.map { "\($0): " } ?? "") + detail }
    }

    /// `online` or `offline`; a newer agent may say more, such as that it is about to end.
    package var state = ""
    /// Whether the agent is connected: only a will and a goodbye say `offline`.
    package var isOnline: Bool { state != "offline" }
    /// Raised before every CONNECT, so that a late will is never taken for a newer birth.
    package var epoch: Int64 = 0
    package var boot = ""
    package var reason = Reason.birth
    package var agent = ""
    package var version = ""
    /// The MQTT version spoken: 5, or 4 for 3.1.1.
    package var mqtt = 0
    /// Since when it is so, in milliseconds since 1970; nil in a will, which is written before its time, and from an
    /// older agent.
    package var at: Int64?
    /// In a birth why there was no connection before, in a goodbye why the agent stopped, in a will what was wrong when
    /// the connection was made; nil when there is nothing to say.
    package var last: Cause?

    package init(
        isOnline: Bool, epoch: Int64, boot: String, reason: Reason, agent: String, version: String, mqtt: Int,
        at: Int64? = nil, last: Cause? = nil
    ) {
        state = isOnline ? "online" : "offline"
        self.epoch = epoch
        self.boot = boot
        self.reason = reason
        self.agent = agent
        self.version = version
        self.mqtt = mqtt
        self.at = at
        self.last = last
    }

    /// Whether it says something new after `known`.
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

    package init() {}

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.required("state", &state)
        fields.required("epoch", &epoch)
        fields.optional("boot", &boot)
        fields.word("why", &reason)
        fields.optional("agent", &agent)
        fields.optional("version", &version)
        fields.optional("mqtt", &mqtt)
        fields.optional("at", &at, in: 0...Fields.latestTime, clamps: true)
        // Who can't read why it ended knows at least that it did.
        fields.optional("last", &last, isLenient: true)
    }
}
