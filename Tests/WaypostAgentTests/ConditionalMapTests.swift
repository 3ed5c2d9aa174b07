import MQTTLink
import TestSupport
import Testing
import WaypostMessages

@testable import Waypost
@testable import WaypostAgent

@Suite struct `Maps with conditions` {
    private static let map = "waypost/v1/k1/map"
    private static let paths = ["demo", "demo1", "demo2", "user/:id"]

    private func router() throws -> Router {
        let router = Router()
        for path in Self.paths {
            try router.register("scheme://router/\(path)", name: path, idempotent: true) { _ in .opened() }
        }
        return router
    }

    private func document(_ revision: Int, _ entries: JSONValue...) -> String {
        JSONValue.object([
            "id": "m", "type": "map", "rev": .int(Int64(revision)), "entries": .array(entries),
        ]).text
    }

    private func redirect(_ when: JSONValue?, from: String = "demo", to target: String = "demo1") -> JSONValue
    {
        var entry: [String: JSONValue] = [
            "routerType": 1, "orginPath": .string("scheme://router/\(from)"),
            "targetPath": .string("scheme://router/\(target)"),
        ]
        entry["when"] = when
        return .object(entry)
    }

    private func open(_ url: String, _ harness: AgentHarness, _ id: String) async throws -> JSONValue {
        try await harness.command(
            JSONValue.object(["id": .string(id), "type": "open", "url": .string(url)]).text
        ).result
    }

    @Test func `of a label that is a secret no reason shows a value`() async throws {
        let router = try router()
        let harness = try await AgentHarness(router: router) {
            $0.client = ClientFacts(
                labels: [
                    "device_token": "hunter2-own", "Door-Pin": "hunter2-pin", "note": "token=hunter2-note",
                ])
            $0.redactedKeys = ["doorpin"]
            $0.logLevel = "v"
        }
        // The program may set everything else that conditions ask about.
        router.updateRelocationContext {
            $0 = RelocationContext(agent: "k1", labels: $0.labels, now: $0.now)
        }
        harness.receive(
            document(
                1, redirect(["labels": ["device_token": ["hunter2-a", "hunter2-b"]]], to: "demo2"),
                redirect(["labels": ["device_token": "hunter2-own", "Door-Pin": "hunter2-pin"], "after": 0]),
                redirect(["labels": ["Door-Pin": "hunter2-c"]], from: "demo2"),
                redirect(["labels": ["note": "x"]], from: "user/3"),
                redirect(["labels": ["device_token": "hunter2-d", "moon": "hunter2-e"]], from: "user/1")),
            on: Self.map)
        let applied = try await harness.applied { $0["conditional"] != nil }
        let reasons = try #require(applied["conditional"]?.arrayValue).compactMap {
            $0["reason"]?.stringValue
        }
        #expect(
            reasons == [
                "label device_token (hidden): no (it is another)",
                "label Door-Pin (hidden), label device_token (hidden), after 0",
                "label Door-Pin (hidden): no (it is another)", "label note=x: no (it is token=***",
                "label device_token (hidden): no (it is another)",
            ])
        #expect(try await open("scheme://router/demo", harness, "c1")["route"] == "scheme://router/demo1")
        _ = try await harness.command(#"{"id":"c2","type":"ping"}"#)
        _ = try await harness.event { $0.message.contains("demo1") }
        let decisions = router.resolve("scheme://router/demo").decisions.map(\.reason)
        #expect(
            decisions.contains("label Door-Pin (hidden), label device_token (hidden), after 0: yes"),
            "\(decisions)")
        for message in harness.published.events {
            #expect(!String(decoding: message.payload, as: UTF8.self).contains("hunter2"), "\(message.topic)")
        }
        try await harness.close()
    }

    @Test func `what is configured decides, and is reported entry by entry`() async throws {
        let harness = try await AgentHarness(router: router()) {
            $0.client = ClientFacts(build: "2.4", locale: "de-AT", labels: ["region": "eu"])
        }
        harness.receive(
            document(
                1, redirect(["labels": ["region": "us"]], to: "demo2"), redirect(["moon": "full"]),
                redirect(["build": ">=2.1 <3", "labels": ["region": "eu"]]),
                redirect(["after": 0, "share": ["percent": 100, "salt": "s", "by": "id"]], from: "demo2")),
            on: Self.map)
        let applied = try await harness.applied { $0["conditional"] != nil }
        #expect(applied["entries"] == 4)
        #expect(
            applied["inactive"] == [
                ["layer": "agent", "index": 1, "reason": "when.moon is unknown in this build"]
            ])
        #expect(
            applied["conditional"] == [
                ["layer": "agent", "index": 0, "state": "no", "reason": "label region=us: no (it is eu)"],
                [
                    "layer": "agent", "index": 2, "state": "yes",
                    "reason": "build >=2.1 <3, label region=eu: yes",
                ],
                [
                    "layer": "agent", "index": 3, "state": "depends",
                    "reason": "after 0, share 100 % of salt s by id",
                ],
            ])
        let bytes = try #require(harness.published.events.last { $0.topic.hasSuffix("map/applied") }?.payload)
        #expect(
            try AppliedMap(JSONValue(parsing: bytes)).conditional == harness.agent.maps.applied.conditional)
        #expect(try await open("scheme://router/demo", harness, "a")["route"] == "scheme://router/demo1")
        #expect(try await open("scheme://router/demo2", harness, "b")["route"] == "scheme://router/demo2")
        #expect(
            try await open("scheme://router/demo2?id=7", harness, "c")["route"] == "scheme://router/demo1")
    }

    @Test func `a time window follows the agent's clock, and not one that can't be trusted`() async throws {
        let harness = try await AgentHarness(router: router())
        let start = harness.clock.now + 60_000
        harness.receive(
            document(1, redirect(["after": .int(start), "before": .int(start + 60_000)])), on: Self.map)
        #expect(try await open("scheme://router/demo", harness, "a")["route"] == "scheme://router/demo")
        harness.clock.advance(60_000)
        #expect(try await open("scheme://router/demo", harness, "b")["route"] == "scheme://router/demo1")
        harness.clock.advance(60_000)
        #expect(try await open("scheme://router/demo", harness, "c")["route"] == "scheme://router/demo")
        harness.clock.step(-90_000)
        #expect(harness.agent.router.resolve("scheme://router/demo").hops.isEmpty)
        let decisions = harness.agent.router.resolve("scheme://router/demo").decisions
        #expect(decisions.first?.reason == "after \(start): no (the clock can't be trusted)")
    }

    @Test func `conditions and exceptions survive a restart`() async throws {
        let entry = redirect(["labels": ["region": "eu"]], from: "user/:id", to: "demo1?id=:id")
        let first = try await AgentHarness(router: router()) { $0.client.labels = ["region": "eu"] }
        let directory = first.agent.configuration.stateDirectory
        guard case .object(var members) = entry else { return }
        members["except"] = ["scheme://router/user/me"]
        first.receive(document(1, .object(members)), on: Self.map)
        _ = try await first.applied { $0["entries"] == 1 }
        try await first.close()
        for (region, url) in [("eu", "scheme://router/demo1?id=7"), ("us", "scheme://router/user/7")] {
            let harness = try await AgentHarness(directory: directory, router: router()) {
                $0.client.labels = ["region": region]
            }
            #expect(harness.agent.router.resolve("scheme://router/user/7").url == url)
            #expect(harness.agent.router.resolve("scheme://router/user/me").hops.isEmpty)
            try await harness.close()
        }
    }

    @Test func `facts that no condition could name are refused at the start`() async throws {
        for facts in [
            ClientFacts(labels: ["a b": "c"]), ClientFacts(labels: ["a": ""]), ClientFacts(build: ""),
            ClientFacts(locale: "\u{7}"), ClientFacts(labels: ["a": String(repeating: "x", count: 129)]),
            ClientFacts(labels: Dictionary(uniqueKeysWithValues: (0...32).map { ("l\($0)", "x") })),
        ] {
            await #expect(throws: AgentConfigurationError.self) {
                _ = try await AgentHarness { $0.client = facts }
            }
        }
    }

    @Test(arguments: [UInt64.random(in: 0...999_999)])
    func `a map leads to the same in an agent and offline`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let facts = ClientFacts(build: "2.4.1", locale: "de", labels: ["region": "eu"])
        let harness = try await AgentHarness(router: router()) {
            $0.client = facts
            // The clock stands still, so no limit of a rate would ever let more through.
            $0.limits.intakeRate = 0
        }
        let now = harness.clock.now
        for round in 1...25 {
            let entries = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                entry(&random, now)
            }
            let text = JSONValue.object(["rev": .int(Int64(round)), "entries": .array(entries)]).text
            harness.receive(text, on: Self.map)
            // As `waypost resolve --map` does it; what is refused is refused here and there.
            var configuration = RouterConfiguration(registersLinked: false)
            configuration.relocationContext = RelocationContext(
                agent: "k1", build: facts.build, locale: facts.locale, labels: facts.labels
            ) { now }
            let offline = Router(configuration: configuration)
            for path in Self.paths {
                try offline.register("scheme://router/\(path)", name: path) { _ in .opened() }
            }
            let list = try? MapDocument(map: JSONValue(parsing: text)).entries
            let report = try? list.map { try offline.relocate([RelocationLayer(name: "agent", entries: $0)]) }
            let applied = harness.agent.maps.applied
            let isInForce = applied.layers.first?.revision == Int64(round)
            #expect(isInForce == (report != nil), "seed \(seed): \(text)")
            guard isInForce, let report else { continue }
            #expect(applied.inactive.map(\.reason) == report.inactive.map(\.reason), "seed \(seed): \(text)")
            #expect(applied.conditional.map(\.state) == report.conditional.map(\.state))
            for number in 0..<6 {
                let path = ["demo", "demo1", "demo2", "user/7", "user/x", "old/a"][number]
                let url = "scheme://router/\(path)?id=\(Int.random(in: 0..<10, using: &random))"
                let result = try await open(url, harness, "r\(round)-\(number)")
                let resolution = offline.resolve(url)
                #expect(
                    result["hops"] == .array(resolution.hops.map(JSONValue.string))
                        || (result.isNull && resolution.error != nil), "seed \(seed): \(url) with \(text)")
                #expect(result["route"]?.stringValue == (resolution.error == nil ? resolution.route : nil))
            }
        }
    }

    private func entry(_ random: inout SeededGenerator, _ now: Int64) -> JSONValue {
        func pick<Element>(_ elements: [Element]) -> Element {
            elements[Int.random(in: 0..<elements.count, using: &random)]
        }
        let (origin, targets) = pick([
            ("demo", ["demo1", "demo2", "none"]), ("demo2", ["demo1"]),
            ("user/:id", ["demo1?id=:id", "demo2"]),
            ("user/<int:n>", ["user/n:n"]), ("*/a", ["demo"]), ("old/**", ["user/**"]),
            ("<path:r>", ["demo1"]),
        ])
        let conditions: [JSONValue?] = [
            nil, [:], ["build": pick([">=2", "<2", "=2.4.1"])], ["locale": pick(["de", "fr"])],
            ["labels": ["region": pick(["eu", ["us", "eu"], "us"])]],
            ["after": .int(now + pick([-1, 0, 1]))],
            ["before": .int(now + pick([-1, 0, 1]))],
            ["share": ["percent": pick([10, 50, 90]), "salt": "s", "by": pick(["agent", "id"])]],
            [
                "targets": [
                    "salt": "t", "by": "id",
                    "of": [["targetPath": "scheme://router/demo2", "percent": 50]],
                ]
            ], ["moon": 1], ["build": "x"],
        ]
        let kind = Int.random(in: 0..<10, using: &random)
        if kind == 0 { return ["routerType": 4, "orginPath": .string("scheme://router/\(origin)")] }
        if kind == 1 {
            var entry: [String: JSONValue] = [
                "routerType": 2, "path": .string("scheme://router/\(pick(["old/a", "new"]))"),
                "className": "demo1",
            ]
            entry["when"] = pick(conditions)
            return .object(entry)
        }
        guard case .object(var entry) = redirect(pick(conditions), from: origin, to: pick(targets)) else {
            return .null
        }
        if kind == 2 { entry["except"] = ["scheme://router/user/7", "/router/old/:x"] }
        return .object(entry)
    }

    @Test func `a share is drawn by the digest that the agent's OpenSSL has too`() {
        var random = SeededGenerator(seed: 15)
        for length in 0...300 {
            let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let first = SHA256.digest(of: bytes).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            #expect(SHA256Hash.first64Bits(of: bytes) == first, "\(length) bytes")
        }
    }
}
