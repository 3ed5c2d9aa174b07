import Testing
import Waypost

@testable import WaypostMessages

/// What both directions of a payload are made of.
@Suite struct `Payloads whose fields are named once` {
    private static let refused = AppliedMap.Refused(
        layer: "agent", revision: 3, digest: "sha256:11", code: .cycle, detail: "a → a", at: 7)

    private static var applied: AppliedMap {
        var applied = AppliedMap(
            layers: [.init(name: "@all", revision: nil, digest: "sha256:00", at: 5)], refused: refused,
            nextPatch: .init(base: 3, revision: 4))
        applied.entries = 2
        applied.inactive = [.init(layer: "patch", index: 0, reason: "no route")]
        applied.conditional = [.init(layer: "patch", index: 1, state: .depends, reason: "after 5")]
        applied.omitted = 2
        applied.isWanted = true
        applied.rollouts = [
            RolloutReport(
                layer: "@all", id: "r", epoch: 2, sequence: 3, place: .next, reason: .chosen, opened: 4)
        ]
        return applied
    }

    private static var failure: FailureReport {
        var report = FailureReport(
            id: "f", code: .noRoute, origin: .router, ref: "c", url: "a://b", detail: "none",
            nearest: ["a://c"],
            at: 5)
        report.map = .init(layer: "agent", revision: 2)
        return report
    }

    private static func holds<Sent: Payload & Equatable>(_ payload: Sent, _ text: String) throws {
        #expect(String(decoding: payload.encoded(), as: UTF8.self) == text)
        #expect(try Sent(JSONValue(parsing: text)) == payload)
        #expect(try payload.json == JSONValue(parsing: text))
    }

    @Test func `are written in the order of the protocol, and read as they were written`() throws {
        try Self.holds(
            Self.applied,
            #"{"layers":[{"layer":"@all","rev":null,"digest":"sha256:00","at":5}],"entries":2,"#
                + #""inactive":[{"index":0,"layer":"patch","reason":"no route"}],"#
                + #""conditional":[{"index":1,"layer":"patch","reason":"after 5","state":"depends"}],"#
                + #""refused":{"at":7,"code":422,"detail":"a → a","digest":"sha256:11","layer":"agent","name":"CYCLE","rev":3},"#
                + #""nextPatch":{"base":3,"rev":4},"omitted":2,"rollout":{"epoch":2,"failed":0,"id":"r","in":"next","#
                + #""layer":"@all","opened":4,"seq":3,"why":"chosen"},"want":true}"#)
        try Self.holds(AppliedMap(), #"{"layers":[],"entries":0,"inactive":[],"refused":null}"#)
        try Self.holds(
            AgentState(
                isOnline: false, epoch: 1, boot: "B", reason: .will, agent: "k1", version: "1", mqtt: 4,
                last: .init(.disk, "full", at: 7)),
            #"{"state":"offline","epoch":1,"boot":"B","why":"will","agent":"k1","version":"1","mqtt":4,"#
                + #""last":{"at":7,"code":503,"detail":"full","name":"DISK"}}"#)
        try Self.holds(
            Self.failure,
            #"{"id":"f","type":"fail","code":404,"name":"NO_ROUTE","retryable":false,"ref":"c","where":"router","#
                + #""url":"a://b","detail":"none","nearest":["a://c"],"map":{"layer":"agent","rev":2},"count":1,"#
                + #""first":5,"last":5}"#)
        var control = RolloutControl(
            id: "r", epoch: 1, sequence: 2, audience: "@all", at: 3, base: nil,
            next: .init(revision: 4, digest: "sha256:11"), below: 16)
        control.hold = 5
        try Self.holds(
            control,
            #"{"type":"rollout","id":"r","epoch":1,"seq":2,"aud":"@all","at":3,"base":null,"#
                + #""next":{"digest":"sha256:11","rev":4},"state":"running","salt":"r","below":"0x0000000000000010","#
                + #""include":[],"exclude":[],"spread":0,"hold":5,"silent":"keep","#
                + #""guard":{"failures":5,"share":50,"within":60000},"stages":["5","1%","10%","50%","100%"],"stage":0}"#
        )
        try Self.holds(
            RolloutAudit(
                number: 1, at: 2, id: "r", epoch: 1, sequence: 2, author: "ops", event: "start", previous: nil
            ),
            #"{"type":"rollout-log","n":1,"at":2,"id":"r","epoch":1,"seq":2,"by":"ops","event":"start","prev":null}"#
        )
        try Self.holds(
            RolloutLease(holder: "h", epoch: 1, nonce: "n"),
            #"{"type":"lease","holder":"h","epoch":1,"nonce":"n","ttl":15000}"#)
    }

    @Test func `an entry of a layer keeps its own fields, also those that only a newer version knows`() throws
    {
        let text = #"{"className":"A","n":1,"path":"/a","state":"active","when":{"moon":"full"},"why":"w"}"#
        let entry = try MapLayer.Entry(JSONValue(parsing: text))
        #expect(entry.content == ["className": "A", "path": "/a", "when": ["moon": "full"]])
        #expect(entry.json.text == text)
        #expect(try JSONValue(parsing: entry.encoded()) == entry.json)
    }

    @Test(arguments: ["", "resting"])
    func `a word that is not known is kept, and never taken for one that is`(word: String) throws {
        let control = RolloutControl(
            id: "r", epoch: 1, sequence: 2, audience: "@all", at: 3, base: nil,
            next: .init(revision: 4, digest: "d"))
        var members = try #require(control.json.objectValue)
        #expect(try RolloutControl(.object(members)).state.hasCandidate)
        members["state"] = .string(word)
        let read = try RolloutControl(.object(members))
        #expect(read.state.rawValue == word && !read.state.hasCandidate)
        members["state"] = nil
        let failure = #expect(throws: Failure.self) { try RolloutControl(.object(members)) }
        #expect(failure?.detail == "state is missing")
    }

    @Test(arguments: [
        (#"{"layers":[{"rev":1}]}"#, "layers.layer is missing"),
        (#"{"entries":"2"}"#, "entries must be an integer; found a string"),
        (#"{"want":1}"#, "want must be true or false; found an integer"),
        (#"{"refused":{"layer":"agent","name":"CYCLE"}}"#, "refused.code is missing"),
        (#"{"rollout":{"epoch":-1}}"#, "rollout.epoch must be 0 to 9007199254740991; found -1"),
    ])
    func `what does not fit is refused, and the first of it is named`(text: String, finding: String) throws {
        let json = try JSONValue(parsing: text)
        let failure = #expect(throws: Failure.self) { try AppliedMap(json) }
        #expect(failure?.code == .badField && failure?.detail == finding, "\(failure as Any)")
    }

    @Test func `health has what a newer agent says beside, and says what it is given`() throws {
        var health = Health([
            "type": "health", "moon": "full", "status": "red", "epoch": 7, "map": ["rev": 1],
        ])
        #expect(health.status == "red" && health.epoch == 7 && health.checks.isEmpty && health.version == "?")
        health.checks = [HealthCheck("store", .ok, "ok"), .unknown("echo", "there is no connection")]
        health.groups = ["lobby"]
        health.map = MapSummary(Self.applied)
        #expect(health.status == "unknown" && health.checks.map(\.name) == ["store", "echo"])
        #expect(health.json["moon"] == "full" && health.json["groups"] == ["lobby"])
        #expect(Health(health.json) == health)
        #expect(health.map == MapSummary(Self.applied))
        #expect(health.map.refusal == "rev 3 refused: CYCLE: a → a")
    }
}
