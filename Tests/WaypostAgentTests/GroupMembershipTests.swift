import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostFleet
@testable import WaypostMessages

/// What the document of an agent's groups makes of them.
@Suite struct GroupMembershipTests {
    private func membership(isFixed: Bool = false) -> GroupMembership {
        GroupMembership(
            own: ["lobby", "shop"], of: "k1", isFixed: isFixed, trusted: .none, limits: .protocolDefaults)
    }

    private func document(_ revision: Int64, add: [String] = [], remove: [String] = []) -> [UInt8] {
        GroupsDocument(revision: revision, audience: "k1", added: add, removed: remove).encoded()
    }

    @Test func `groups are its own in their order without those that are removed, then those that are added`()
        throws
    {
        var groups = membership()
        #expect(groups.groups == ["lobby", "shop"] && groups.said == nil)
        #expect(try groups.take(document(1, add: ["eu", "lobby"], remove: ["shop"])))
        #expect(groups.groups == ["lobby", "eu"] && groups.left == ["shop"])
        // What is not named by the next document is as its own settings have it.
        #expect(try groups.take(document(2, remove: ["lobby"])))
        #expect(groups.groups == ["shop"] && groups.left == ["lobby", "eu"])
        #expect(try groups.take(document(3)))
        #expect(groups.groups == ["lobby", "shop"] && groups.left == ["eu"])
        #expect(groups.said?.revision == 3 && groups.said?.own == ["lobby", "shop"])
    }

    @Test(arguments: [
        ("no JSON", Code.badJSON), ("[]", .badField), (#"{"type":"map","rev":3}"#, .badField),
        (#"{"type":"groups"}"#, .badField), (#"{"type":"groups","rev":0}"#, .badField),
        (#"{"type":"groups","rev":3,"add":"eu"}"#, .badField),
        (#"{"type":"groups","rev":3,"add":[7]}"#, .badField),
        (#"{"type":"groups","rev":3,"add":["all"]}"#, .badField),
        (#"{"type":"groups","rev":3,"add":["a/b"]}"#, .badField),
        (#"{"type":"groups","rev":3,"add":["a","a"]}"#, .badField),
        (#"{"type":"groups","rev":3,"add":["a"],"remove":["a"]}"#, .badField),
        (#"{"type":"groups","rev":3,"aud":"k2"}"#, .badField),
        (#"{"type":"groups","rev":3,"v":2}"#, .version),
        (#"{"type":"groups","rev":1,"add":["eu"]}"#, .rollback),
        (#"{"type":"groups","rev":2,"add":["us"]}"#, .equivocation),
        (
            #"{"type":"groups","rev":3,"add":["# + String(repeating: #""x","#, count: 5_000) + #""y"]}"#,
            .tooLarge
        ),
    ])
    func `a bad document changes nothing, and is refused once`(text: String, code: Code) throws {
        var groups = membership()
        #expect(try groups.take(document(2, add: ["eu"])))
        let before = groups.groups
        let bytes = Array(text.utf8)
        let failure = #expect(throws: Failure.self) { _ = try groups.take(bytes) }
        #expect(failure?.code == code, "\(text.prefix(60)): \(String(describing: failure))")
        #expect(groups.groups == before && groups.document?.revision == 2)
        let refusal = try #require(failure)
        let (first, second) = (groups.refuse(bytes, refusal), groups.refuse(bytes, refusal))
        #expect(first && !second && groups.said?.refused?.code == code)
        // The good one comes again with the next connection, and the refusal is over.
        #expect(try !groups.take(document(2, add: ["eu"])) && groups.said?.refused == nil)
    }

    @Test func `where keys are trusted, only what is signed as such a document counts`() throws {
        let key = try SigningKey(text: Base64.encode([UInt8](repeating: 7, count: 32)))
        let trusted = TrustedKeys([("release", key.verifyingKey)], threshold: 1)
        var groups = GroupMembership(
            own: ["lobby"], of: "k1", isFixed: false, trusted: trusted, limits: .protocolDefaults)
        func signed(as type: String) -> [UInt8] {
            var envelope = SignedEnvelope(payloadType: type, payload: document(1, add: ["eu"]))
            let isSigned = envelope.sign(with: key, id: "release")
            #expect(isSigned)
            return envelope.encoded()
        }
        for type in [SignedEnvelope.mapType, SignedEnvelope.commandType, "application/json"] {
            let failure = #expect(throws: Failure.self) { _ = try groups.take(signed(as: type)) }
            #expect(failure?.code == .badField && failure?.detail.contains("payloadType") == true)
        }
        #expect(throws: Failure.self) { _ = try groups.take(document(1, add: ["eu"])) }
        #expect(try groups.take(signed(as: SignedEnvelope.groupsType)) && groups.groups == ["lobby", "eu"])
    }

    @Test func `thirty-two names are taken, and one more is not`() throws {
        var groups = membership()
        let names = (1...GroupsDocument.maximumNames).map { "g\($0)" }
        #expect(try groups.take(document(1, add: names)) && groups.groups.count == 34)
        #expect(throws: Failure.self) { _ = try groups.take(document(2, add: names + ["one"])) }
        for revision in Int64(2)...9 {
            let others = names.map { "\($0)-\(revision)" }
            #expect(try groups.take(document(revision, add: others)))
        }
        #expect(groups.left.count == GroupMembership.maximumLeft && groups.left.contains("g1-8"))
    }

    @Test func `where its own settings decide, no document counts, also none that was stored`() throws {
        var groups = membership(isFixed: true)
        let failure = #expect(throws: Failure.self) { _ = try groups.take(document(1, add: ["eu"])) }
        #expect(failure?.code == .notAllowed && groups.groups == ["lobby", "shop"])
        try groups.restore(document(1, add: ["eu"]), left: ["eu", "lobby"])
        // A session at a broker may have subscriptions to what it left.
        #expect(groups.groups == ["lobby", "shop"] && groups.left == ["eu"])
    }

    @Test func `what comes before the link has followed is one change, however much it is`() {
        var changes = GroupChanges()
        changes.came(joined: ["a"], left: ["old"])
        for number in 0..<10_000 {
            changes.came(joined: ["g\(number)"], left: [])
            changes.came(joined: ["old"], left: ["g\(number)"])
            changes.came(joined: [], left: ["old"])
        }
        changes.came(joined: ["b", "old"], left: ["a"])
        let change = changes.next()
        #expect(change?.joined == ["b", "old"] && change?.left == ["old"])
        let last = changes.next()
        #expect(last == nil && !changes.areFollowed)
    }

    @Test func `what comes faster than map-rate is not read, and the newest is in force in the end`()
        async throws
    {
        let harness = try await AgentHarness { $0.limits.mapRate = 1 }
        for revision in 1...1_000 as ClosedRange<Int64> {
            let payload = document(revision, add: ["g\(revision)"])
            harness.receive(String(decoding: payload, as: UTF8.self), on: "waypost/v1/k1/groups")
        }
        // Five at once are within the limit; the clock stands still.
        #expect(harness.agent.groups.current.document?.revision == 5)
        harness.clock.advance(1_000)
        harness.link.tick()
        #expect(harness.agent.groups.current.groups == ["fleet", "g1000"])
        let report = try await harness.failure { $0.code == .busy }
        #expect(report.detail.contains("document of groups") && report.detail.contains("per second"))
        try await harness.close()
    }
}
