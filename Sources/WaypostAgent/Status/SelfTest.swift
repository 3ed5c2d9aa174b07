import MQTTLink
import Waypost
import WaypostMessages

/// The agent's messages to itself on one connection: some brokers grant a subscription and deliver nothing, or accept a
/// message and drop it.
///
/// The echo shows that for the agent's echo topic. The ping shows it for commands, but only where the broker lets the agent
/// write them, and says so when it does not: that takes MQTT 5.
struct SelfTest: Sendable {
    /// What one of the messages showed.
    enum Finding: Sendable, Equatable {
        case pending, ok, missing
        /// It can't be tried, or says nothing here; with the reason.
        case unknown(String)
    }

    /// The token of the ping; the outbox counts its own from 1.
    static let token = UInt64.max
    /// How long a message to itself may take, in milliseconds; others may wait before it.
    private static let patience: Int64 = 10_000

    private(set) var echo = Finding.pending
    private(set) var commands = Finding.pending
    private var echoPayload: [UInt8] = []
    private var pingPayload: [UInt8] = []
    /// When the connection was made, on the monotonic clock; nil while there is none.
    private var began: Int64?
    private var isPingAccepted = false
    /// Connections in a row that ended before the broker answered the ping.
    ///
    /// Some brokers end a connection for a message that they do not allow, and then it is not sent again.
    private var lostPings = 0
    private static let lostPingLimit = 2

    /// Whether both have shown what they can.
    var isSettled: Bool { echo != .pending && commands != .pending }

    /// A connection was made: the payloads to publish; the second is nil when no ping must be sent.
    mutating func began(
        boot: String, nonce: String, over version: MQTTVersion, receivesCommands: Bool, at now: Int64
    ) -> (echo: [UInt8], ping: [UInt8]?) {
        let lost = lostPings
        self = SelfTest()
        lostPings = lost
        began = now
        echoPayload = SelfTestPayload.echo(boot: boot, nonce: nonce)
        if version == .v311 {
            commands = .unknown("with MQTT 3.1.1 a broker does not say whether the agent may write commands")
        } else if lost >= Self.lostPingLimit {
            commands = .unknown("the broker ends the connection when the agent writes a command")
        } else if !receivesCommands {
            commands = .unknown("the subscription is refused")
        } else {
            pingPayload = SelfTestPayload.ping(nonce: nonce)
            return (echoPayload, pingPayload)
        }
        return (echoPayload, nil)
    }

    /// The connection is over: what is not back by now says nothing.
    mutating func ended() { began = nil }

    mutating func echoReceived(_ payload: [UInt8]) {
        if began != nil, payload == echoPayload { echo = .ok }
    }

    /// Whether a command that the agent sent to itself is such a ping, of whatever connection.
    mutating func pingReceived(_ payload: [UInt8]) -> Bool {
        guard SelfTestPayload.isPing(payload) else { return false }
        if began != nil, payload == pingPayload { commands = .ok }
        return true
    }

    /// What the broker said to the ping.
    mutating func pingSettled(_ result: PublishReceipt.Result) {
        switch result {
        case .acknowledged:
            isPingAccepted = true
            lostPings = 0
        case .refused:
            lostPings = 0
            if commands == .pending { commands = .unknown("the agent may not write commands") }
        case .lost: if commands == .pending { lostPings += 1 }
        case .rejected: commands = .unknown("the ping could not be sent")
        }
    }

    /// Whether a message to itself should be back by now and is not; each is true once for a connection.
    mutating func overdue(at now: Int64) -> (echo: Bool, commands: Bool) {
        guard let began, now - began >= Self.patience else { return (false, false) }
        let isEchoOverdue = echo == .pending
        if isEchoOverdue { echo = .missing }
        guard commands == .pending else { return (isEchoOverdue, false) }
        // Without an answer to the ping, or without the echo, the fault need not be with the commands.
        guard isPingAccepted, echo == .ok else {
            commands = .unknown("the broker has not answered yet")
            return (isEchoOverdue, false)
        }
        commands = .missing
        return (isEchoOverdue, true)
    }
}
