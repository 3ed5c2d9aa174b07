import MQTTLink
import Testing
import Waypost

@testable import WaypostMessages

@Suite struct `The documents of roll-outs` {
    @Test(arguments: [
        ("r1", "k1", 0x3dbc_8a8a_0d54_fa4f as UInt64), ("r1", "k2", 0xc34e_b899_f942_8eb2),
        ("r2", "k1", 0x9ede_2aeb_b366_c068), ("r-2026-11-21-a", "kiosk-7", 0xd547_6561_a00e_d0f1),
    ])
    func `have the hash of the design`(_ salt: String, _ agent: String, _ number: UInt64) {
        #expect(RolloutHash.value(salt: salt, agent: agent) == number)
        #expect(RolloutHash.value(RolloutHash.text(number)) == number)
    }

    @Test func `the hash spreads ten thousand agents evenly`() {
        let stage = RolloutStage.share(10_000)
        let below = stage.below(online: [])
        let chosen = (1...10_000).count { RolloutHash.value(salt: "r-7", agent: "kiosk-\($0)") < below }
        #expect((900...1_100).contains(chosen))
    }

    @Test(arguments: ["5", "1%", "10%", "50%", "100%", "0.5%", "12.345%"])
    func `a stage is written as it was read`(_ text: String) {
        #expect(RolloutStage(text)?.description == text)
    }

    @Test(arguments: ["", "0", "-1", "0%", "101%", "1.2345%", "1.%", "%", "x", "1 %", "99999999"])
    func `what is no stage is refused`(_ text: String) {
        #expect(RolloutStage(text) == nil)
    }

    @Test func `a count takes those with the smallest numbers`() {
        #expect(RolloutStage.count(2).below(online: [9, 3, 7]) == 8)
        #expect(RolloutStage.count(5).below(online: [9, 3, 7]) == 10)
        #expect(RolloutStage.count(5).below(online: []) == 0)
        #expect(RolloutStage.share(100_000).below(online: []) == .max)
    }

    private func control() -> RolloutControl {
        var control = RolloutControl(
            id: "r-7", epoch: 3, sequence: 12, audience: "@lobby", at: 1_795_216_999_000,
            base: .init(revision: 41, digest: "sha256:a"), next: .init(revision: 42, digest: "sha256:b"),
            below: 0x0ccc_cccc_cccc_cccc)
        control.author = "ops"
        control.why = "stage 2"
        control.include = ["kiosk-1"]
        control.exclude = ["kiosk-2"]
        control.spread = 20_000
        control.hold = 1_800_000
        control.silent = .revert
        control.stage = 1
        return control
    }

    @Test func `a control document is read as it was written`() throws {
        #expect(try RolloutControl(control().encoded()) == control())
        var first = control()
        (first.base, first.limit, first.hold) = (nil, nil, nil)
        #expect(try RolloutControl(first.encoded()) == first)
    }

    @Test(arguments: [
        ("below", #""0x12""#), ("below", #""0x+ccccccccccccccc""#), ("below", "5"), ("seq", "-1"),
        ("epoch", #""3""#), ("id", #""a/b""#), ("silent", #""sing""#), ("include", #"["a b"]"#),
        ("next", "null"), ("guard", #"{"failures":0}"#), ("spread", "99999999999"), ("type", #""map""#),
    ])
    func `a bad field is refused by name`(_ field: String, _ value: String) throws {
        let json = try JSONValue(parsing: control().encoded())
        var members = try #require(json.objectValue)
        members[field] = try JSONValue(parsing: Array(value.utf8))
        let failure = #expect(throws: Failure.self) { try RolloutControl(.object(members)) }
        #expect(failure?.code == .badField && failure?.detail.contains(field) == true, "\(failure as Any)")
    }

    @Test func `a document over 8 KiB is refused before it is read`() {
        let bytes = [UInt8](repeating: UInt8(ascii: " "), count: 8_193)
        #expect(throws: Failure(.tooLarge, "a control document has at most 8192 bytes; found 8193")) {
            try RolloutControl(bytes)
        }
    }

    @Test func `a state of a newer controller has no candidate in force`() throws {
        var newer = control()
        newer.state = .init(rawValue: "cooling")
        let read = try RolloutControl(newer.encoded())
        #expect(!read.state.hasCandidate && !read.state.isOver)
    }

    @Test func `of two leases the larger one holds, whichever comes first`() throws {
        let old = RolloutLease(holder: "a", epoch: 3, nonce: "z")
        let new = RolloutLease(holder: "b", epoch: 4, nonce: "a")
        #expect(new.wins(over: old) && !old.wins(over: new))
        #expect(RolloutLease(holder: "b", epoch: 3, nonce: "zz").wins(over: old))
        let json = try JSONValue(parsing: new.encoded())
        #expect(try RolloutLease(json) == new)
    }

    @Test func `map/applied has the roll-out, and all of them when there are several`() throws {
        func report(_ layer: String) -> RolloutReport {
            RolloutReport(
                layer: layer, id: "r-7", epoch: 3, sequence: 2, place: .next, reason: .chosen, opened: 5,
                failed: 1)
        }
        var applied = AppliedMap()
        applied.rollouts = [report("@all")]
        applied.isWanted = true
        var json = try JSONValue(parsing: applied.encoded())
        #expect(json["rollout"]?["in"] == "next" && json["rollouts"] == nil && json["want"] == true)
        #expect(try AppliedMap(json) == applied)
        applied.rollouts = [report("@all"), report("@lobby")]
        json = try JSONValue(parsing: applied.encoded())
        #expect(json["rollout"]?["layer"] == "@lobby")
        #expect(try AppliedMap(json) == applied)
    }

    @Test func `changed URLs are those of entries that one map has and the other has not`() {
        func redirect(_ origin: String, _ target: String) -> RelocationEntry {
            RelocationEntry(.replace(origin: "scheme://\(origin)", target: "scheme://\(target)"))
        }
        let changed = ChangedURLs(
            from: [redirect("a", "b"), redirect("same", "x")],
            to: [
                redirect("same", "x"), redirect("shop/**", "store/**"),
                RelocationEntry(.delete(path: "scheme://user/:id")),
            ])
        #expect(changed.contains("scheme://a") && changed.contains("scheme://a?x=1"))
        #expect(changed.contains("scheme://shop/1/2") && changed.contains("scheme://user/7"))
        #expect(!changed.contains("scheme://same") && !changed.contains("scheme://b"))
        #expect(changed.touches("scheme://b") && changed.touches("scheme://store/5"))
        #expect(!changed.touches("scheme://other"))
        #expect(changed.samples.count == 3)
    }

    @Test
    func
        `pages that a map closes and calls that it changes are no changed URLs, and those that it opens again are`()
    {
        let closed = [
            RelocationEntry(.off(.pages("scheme://shop/**"))), RelocationEntry(.off(.service("S"))),
            RelocationEntry(.gate(pages: "scheme://a", through: "g")),
        ]
        #expect(!ChangedURLs(from: [], to: closed).touches("scheme://shop/1"))
        #expect(ChangedURLs(from: closed, to: []).subjects == ["scheme://shop/**", "scheme://a"])
    }
}
