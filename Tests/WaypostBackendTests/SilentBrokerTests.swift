import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend

/// A broker that takes connections and answers nothing: what it keeps is not known then, and is not nothing.
@Suite struct `A broker that does not answer` {
    @Test func `does not have a newer map replaced by an older one`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let settings = try BackendConfiguration(broker: broker.url, name: "ops")
        let newer = try Relocation.map([], revision: 2)
        let older = try Relocation.map([], revision: 1)
        let session = try await BackendSession.connect(settings, required: [])
        try await session.replaceMap(with: newer, of: .group("all"), allowing: []) { _ in }

        broker.pause()
        let error = await #expect(throws: BackendError.self) {
            try await session.replaceMap(with: older, of: .group("all"), allowing: []) { _ in }
        }
        #expect(error?.kind == .noBroker)
        broker.resume()
        // What was to be sent by now has been sent then.
        await session.close()

        var kept: [UInt8] = []
        let topic = settings.topics.map(of: .group("all"))
        try await BackendSession.with(settings, required: [topic]) { session in
            try await session.readRetained { if $0.topic == topic { kept = $0.payload } }
        }
        #expect(kept == newer.payload)
    }

    @Test func `and ends is said to have ended`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let settings = try BackendConfiguration(broker: broker.url, name: "ops")
        let session = try await BackendSession.connect(settings, required: [])
        broker.pause()
        let answer = Task { try await session.subscribe("x") }
        try await broker.kill()
        let error = await #expect(throws: BackendError.self) { try await answer.value }
        #expect(
            error?.kind == .noBroker && error?.description.contains("did not answer") == false,
            "\(String(describing: error))")
        await session.close()
    }

    @Test func `and ends while the past is read is gone back to`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let settings = try BackendConfiguration(broker: broker.url, name: "ops")
        var request = LogRequest()
        request.past = .everything
        let notices = EventLog<String>()
        let following = Task { [request] in
            try await Backend(perCall: settings).followLog(request) { entry in
                if case .notice(let text) = entry { notices.append(text) }
                return true
            }
        }
        // It asks the agents for what they have.
        try await broker.waitForLog(containing: "Received PUBLISH from")
        try await broker.kill()
        try await broker.start()
        try await notices.wait(for: "the way back") { $0.contains { $0.hasPrefix("reconnected to") } }
        following.cancel()
        _ = await following.result
    }
}
