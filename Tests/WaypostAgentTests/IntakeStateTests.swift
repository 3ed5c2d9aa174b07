import MQTTLink
import Testing
import Waypost

@testable import WaypostAgent

@Suite struct `The decisions of intake` {
    private var state: IntakeState

    init() {
        var limits = AgentLimits()
        (limits.intakeRate, limits.intakeBurst) = (1, 2)
        state = IntakeState(limits)
    }

    private static func message(qos: QoS = .atLeastOnce, isDuplicate: Bool = false) -> MQTTMessage {
        MQTTMessage(
            topic: "waypost/v1/k1/cmd/ops", payload: [], qos: qos, isDuplicate: isDuplicate)
    }

    private mutating func admissions(_ count: Int, from sender: String = "ops") -> [SenderTable.Admission] {
        (0..<count).map { _ in state.messageCame(Self.message(), from: sender, at: 0).admission }
    }

    private mutating func isStoredFirst(_ message: MQTTMessage, from sender: String, at now: Int64) -> Bool {
        state.messageCame(message, from: sender, at: now).isStoredFirst
    }

    private mutating func expectAcknowledged(_ expected: Bool) {
        let hadCommands = state.acknowledged()
        #expect(hadCommands == expected)
    }

    @Test mutating func `looks up as many again as it lets in, and reads none beyond`() {
        #expect(admissions(6) == [.within, .within, .lookedUp, .lookedUp, .unread, .unread])
        #expect(admissions(1, from: "dev") == [.within])
        #expect(state.counters.received == 7)
    }

    @Test mutating func `does not count against a sender what the broker sends again`() {
        _ = admissions(4)
        state.batchRefused()
        #expect(admissions(4) == [.within, .within, .lookedUp, .lookedUp])
        expectAcknowledged(true)
        // What is acknowledged counts.
        state.batchRefused()
        #expect(admissions(1) == [.unread])
    }

    @Test mutating func `says whether there is anything to acknowledge, once`() {
        expectAcknowledged(false)
        _ = state.messageSkipped(of: "ops", at: 0)
        expectAcknowledged(false)
        _ = admissions(1)
        expectAcknowledged(true)
        expectAcknowledged(false)
    }

    @Test mutating func `has stored first what may have ended the agent before`() {
        let (usual, again) = (Self.message(), Self.message(isDuplicate: true))
        #expect(isStoredFirst(usual, from: "a", at: 0))
        state.connected(at: 1_000)
        #expect(isStoredFirst(usual, from: "b", at: 1_000 + CrashGuard.time - 1))
        #expect(!isStoredFirst(usual, from: "c", at: 1_000 + CrashGuard.time))
        // The broker had sent it before: that start counts.
        let arrival = state.messageCame(again, from: "d", at: 1_000 + CrashGuard.time)
        #expect(arrival.isStoredFirst && arrival.earlierStarts == 1)
        state.endedCleanly()
        #expect(!isStoredFirst(again, from: "e", at: 0))
        #expect(state.messageCame(again, from: "f", at: 0).earlierStarts == 0)
        // No broker sends it again.
        #expect(isStoredFirst(Self.message(qos: .atMostOnce), from: "g", at: 0))
    }

    @Test mutating func `takes other limits at once`() {
        _ = admissions(6)
        state.limitsChanged(rate: 1, burst: 1, at: 0)
        #expect(admissions(2) == [.within, .lookedUp])
        #expect(state.busy("ops", .lookedUp).detail.contains("1 messages per second"))
    }
}
