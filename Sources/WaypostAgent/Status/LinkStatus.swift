import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// What is known of the connection to the broker, for health.
final class LinkStatus: Sendable {
    struct State: Sendable {
        var connects: Int64 = 0
        /// Messages that were too large to be read.
        var skipped: Int64 = 0
        /// The last connection; it may be over.
        var connection: Connection?
        /// Why there is no connection; nil while there is one, and before the first try has ended.
        var outage: Outage?
        /// The last one that came to an end.
        var lastOutage: Outage?
        var selfTest = SelfTest()
        fileprivate var logged: [BrokerURL: Logged] = [:]
        /// Filters without which the agent does all that it has to.
        fileprivate let optional: Set<String>

        /// Whether there is a connection now.
        var isConnected: Bool { connection != nil && outage == nil }

        /// The filters of subscriptions that the broker refused.
        var refusedSubscriptions: [String] {
            (connection?.subscriptions.filter { !$0.isGranted }.map(\.subscription.filter) ?? [])
                .filter { !optional.contains($0) }
        }

        fileprivate init(optional: Set<String>) { self.optional = optional }
    }

    /// A time without a connection.
    struct Outage: Sendable {
        /// Why there is none, as the last try has found.
        var reason: DisconnectReason
        /// What says most of others: the last reason that has a code, if one had.
        var cause: AgentState.Cause
        /// In milliseconds since 1970.
        let since: Int64
        /// When the broker is tried again, on the monotonic clock; nil when it is not.
        var nextTry: Int64?
        /// Tries that failed, the end of the connection included.
        var count: Int64 = 0
    }

    /// The last line about a broker.
    fileprivate struct Logged: Sendable {
        var cause: DisconnectReason.Cause
        /// On the monotonic clock.
        var at: Int64
        /// How often it was logged.
        var times: Int
    }

    private let state: Guarded<State>
    private let whenTested = Callback<Void, Void> {}

    /// - Parameter optional: Filters that the broker may refuse: the agent does all that it has to without them.
    init(optional: [String]) { state = Guarded(State(optional: Set(optional))) }

    /// Calls `body` when the agent's messages to itself have shown on a connection what they can.
    func onTested(_ body: @escaping @Sendable () -> Void) { whenTested.set { _ in body() } }

    var current: State { state.withLock { $0 } }

    func connected(_ connection: Connection) {
        state.withLock { state in
            state.connects += 1
            state.connection = connection
            state.lastOutage = state.outage ?? state.lastOutage
            state.outage = nil
            // On a full disk connections come and go.
            state.logged = state.logged.filter { $0.value.cause == .batchRefused }
        }
    }

    /// A connection ended, or could not be made; returns the outage, and whether a line about it is due.
    ///
    /// - Parameters:
    ///   - detail: the reason for others, without what to do.
    ///   - wall: in milliseconds since 1970.
    ///   - now: on the monotonic clock.
    func disconnected(
        _ reason: DisconnectReason, _ detail: String, code: Code?, at wall: Int64, _ now: Int64
    ) -> (outage: Outage, isLineDue: Bool) {
        state.withLock { state in
            let cause = AgentState.Cause(code, detail, at: wall)
            var outage = state.outage ?? Outage(reason: reason, cause: cause, since: wall)
            outage.count += 1
            outage.nextTry = reason.retryIn.map { now + $0.milliseconds }
            outage.reason = reason
            if code != nil || outage.cause.code == nil { outage.cause = cause }
            state.outage = outage
            let known = state.logged[reason.broker].flatMap { $0.cause == reason.cause ? $0 : nil }
            if let known, now - known.at < Self.pause(after: known.times) { return (outage, false) }
            state.logged[reason.broker] = Logged(cause: reason.cause, at: now, times: (known?.times ?? 0) + 1)
            return (outage, true)
        }
    }

    /// How long a reason that stays the same is not logged again, in milliseconds: a minute, then twice as long each
    /// time, up to an hour.
    private static func pause(after times: Int) -> Int64 { min(60_000 << min(times - 1, 6), 3_600_000) }

    /// Subscriptions were tried again; returns the filters that are granted now.
    func subscribed(_ connection: Connection) -> [String] {
        state.withLock { state in
            let refused = state.refusedSubscriptions
            state.connection = connection
            return refused.filter { !state.refusedSubscriptions.contains($0) }
        }
    }

    /// The most bytes that a payload may have now; some are left for topic and properties.
    ///
    /// - Parameter packetBytes: the largest packet whatever the broker takes.
    func maximumPayload(_ packetBytes: Int) -> Int {
        let broker = current.connection?.maximumPacketSize.map { Int($0) } ?? .max
        return max(1, min(packetBytes, broker) - AgentLimits.packetOverhead)
    }

    func skipped() { state.withLock { $0.skipped += 1 } }

    func changeSelfTest<Value>(_ body: (inout SelfTest) -> Value) -> Value {
        let (value, isNews) = state.withLock { state in
            let before = state.selfTest.isSettled
            let value = body(&state.selfTest)
            return (value, !before && state.selfTest.isSettled)
        }
        if isNews { whenTested() }
        return value
    }
}

extension DisconnectReason {
    /// The code under which the end of a connection is reported; nil for what happens in normal operation.
    var code: Code? {
        switch cause {
        case .refused, .proxy: .connectRefused
        case .tls: .tls
        case .clientIDConflict, .sessionTakenOver: .clientIDConflict
        case .packetTooLarge: .tooLarge
        case .unknownHost, .network, .closedByBroker, .timedOut, .keepAlive, .unacknowledged,
            .serverDisconnect, .protocolViolation, .batchRefused, .library, .renewing, .returning, .stopped:
            nil
        }
    }
}
