import Testing
import Waypost
import WaypostMessages

@Suite struct `A signed document` {
    private static let seed = Base64.encode(Array(repeating: 7, count: 32))

    private func read(_ text: String, isPatch: Bool) throws -> MapDocument {
        let key = try SigningKey(text: Self.seed)
        var envelope = SignedEnvelope(payloadType: SignedEnvelope.mapType, payload: Array(text.utf8))
        let isDone = envelope.sign(with: key, id: "k")
        #expect(isDone)
        let rules = MapDocument.Rules(
            maximumBytes: 65_536, limits: .protocolDefaults,
            trusted: TrustedKeys([("k", key.verifyingKey)], threshold: 1))
        return try MapDocument(envelope.encoded(), isPatch: isPatch, rules)
    }

    @Test func `with type, audience and revision is read`() throws {
        let map = try read(#"{"type":"map","rev":3,"aud":"k1","entries":[]}"#, isPatch: false)
        #expect(map.revision == 3)
        let patch = try read(#"{"type":"patch","aud":"k1","base":3,"rev":4,"entries":[]}"#, isPatch: true)
        #expect(patch.audience == "k1")
        #expect(patch.base == 3 && patch.revision == 4)
    }

    // Without these, what was signed for one place or time could be delivered in another.
    @Test(arguments: [
        (#"{"rev":3,"aud":"k1","entries":[]}"#, false), (#"{"type":"map","aud":"k1","entries":[]}"#, false),
        (#"{"type":"map","rev":3,"entries":[]}"#, false),
        (#"{"type":"patch","rev":3,"aud":"k1","entries":[]}"#, false), ("[]", false),
        (#"{"aud":"k1","entries":[]}"#, true), (#"{"type":"map","rev":3,"aud":"k1","entries":[]}"#, true),
        (#"{"type":"patch","base":3,"rev":4,"entries":[]}"#, true), ("[]", true),
        (#"{"type":"patch","aud":"k1","entries":[]}"#, true),
        (#"{"type":"patch","aud":"k1","rev":4,"entries":[]}"#, true),
        (#"{"type":"patch","aud":"k1","base":3,"entries":[]}"#, true),
    ])
    func `without one of them is refused`(_ text: String, _ isPatch: Bool) {
        let refusal = #expect(throws: Failure.self) { try read(text, isPatch: isPatch) }
        #expect(refusal?.code == .badField)
    }
}
