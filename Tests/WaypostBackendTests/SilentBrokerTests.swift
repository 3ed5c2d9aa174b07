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
}
