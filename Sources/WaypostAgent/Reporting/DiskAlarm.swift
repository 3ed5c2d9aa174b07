import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// Reports at QoS 0 that nothing can be stored any more: a report at QoS 1 would have to be stored first.
///
/// The report leaves with the CONNECT of the next connection, before anything is received on it. Later is too late:
/// the broker first delivers what is not acknowledged, and because that can't be stored, the connection is dropped. It
/// may be dropped before the broker has read the report, so that leaves with each CONNECT until one has been answered.
/// A connection of its own is no way either: a broker that ties client ids to user names would end the agent's session.
final class DiskAlarm: Sendable {
    private struct State {
        var lastRaised: Int64?
        var waiting: MQTTMessage?
        /// Whether it went out with the CONNECT that was made last.
        var hasLeft = false
        /// Why nothing could be stored, since when, and how often; until ``takeOutage()``.
        var outage: FailureReport?
    }

    /// The shortest time between two alarms, in milliseconds.
    private static let interval: Int64 = 30_000

    private let topic: String
    private let clock: AgentClock
    private let state = Guarded(State())

    init(topic: String, clock: AgentClock) {
        self.topic = topic
        self.clock = clock
    }

    /// Raises the alarm; returns the report, or nil when one was made a moment ago.
    func raise(_ problem: String) -> MQTTMessage? {
        let (now, wall) = (clock.monotonic(), clock.wall())
        let report = FailureReport(
            id: Identifier.ulid(at: wall), code: .disk, origin: .agent, detail: problem, at: wall)
        return state.withLock { state in
            var outage = state.outage ?? report
            outage.detail = problem
            outage.last = wall
            if state.outage != nil { outage.count += 1 }
            state.outage = outage
            if let last = state.lastRaised, now - last < Self.interval { return nil }
            let message = message(outage)
            (state.lastRaised, state.waiting, state.hasLeft) = (now, message, false)
            return message
        }
    }

    /// Why nothing could be stored, once that is over: the report that could not be stored then.
    ///
    /// It has the id of the alarms, so that a reader of one takes it for the same.
    func takeOutage() -> FailureReport? {
        state.withLock { state in
            defer { state.outage = nil }
            return state.outage
        }
    }

    /// What leaves with a CONNECT that is made now.
    func messagesWithConnect() -> [MQTTMessage] {
        state.withLock { state in
            state.hasLeft = state.waiting != nil
            return state.waiting.map { [$0] } ?? []
        }
    }

    /// The broker has answered what was sent after the CONNECT, and so it has what came with it.
    func arrived() {
        state.withLock { state in
            if state.hasLeft { state.waiting = nil }
        }
    }

    private func message(_ report: FailureReport) -> MQTTMessage {
        var message = MQTTMessage.retained(topic, report.encoded())
        message.retain = false
        message.qos = .atMostOnce
        return message
    }
}
