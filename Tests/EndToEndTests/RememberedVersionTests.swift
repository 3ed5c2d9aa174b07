import CommandSupport
import Foundation
import TestSupport
import Testing

/// Which version of MQTT an agent has found to work.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct RememberedVersionTests {
    @Test func `an agent that is started again does not ask an old broker for MQTT 5 again`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let relay = try Relay(to: broker.port, refuses5: true)
        defer { relay.end() }
        let first = try RunningAgent("k1", broker: relay.url)
        try await first.printed("(MQTT 3.1.1,")
        #expect(try await first.terminate() == 0)
        #expect(relay.refused5 == 1)
        let second = try RunningAgent("k1", broker: relay.url, directory: first.directory)
        try await second.printed("(MQTT 3.1.1,")
        #expect(try await second.terminate() == 0)
        #expect(relay.refused5 == 1)
        // With another state it knows nothing.
        let third = try RunningAgent("k3", broker: relay.url)
        try await third.printed("(MQTT 3.1.1,")
        #expect(try await third.terminate() == 0)
        #expect(relay.refused5 == 2)
    }
}
