import Foundation
import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent
@testable import WaypostFleet

/// Roll-outs in a running agent, with its disk.
@Suite struct `Roll-outs in an agent` {
    private static let topic = "waypost/v1/@fleet"

    private func router() throws -> Router {
        let router = Router()
        for name in ["demo", "demo1", "demo2", "demo3"] {
            try router.register("scheme://router/\(name)", name: "Demo.\(name)") { _ in .opened() }
        }
        try router.register("scheme://router/broken", name: "Demo.broken") { _ in
            throw Failure(.handlerFailed, "it is broken")
        }
        return router
    }

    private func map(_ revision: Int64, _ pairs: (String, String)...) -> String {
        let entries = pairs.map { origin, target in
            "{\"routerType\":1,\"orginPath\":\"scheme://router/\(origin)\",\"targetPath\":\"scheme://router/\(target)\"}"
        }
        return
            "{\"id\":\"m\",\"type\":\"map\",\"rev\":\(revision),\"entries\":[\(entries.joined(separator: ","))]}"
    }

    private func id(_ map: String, _ revision: Int64) -> RolloutControl.MapID {
        .init(revision: revision, digest: SHA256.label(SHA256.digest(of: Array(map.utf8))))
    }

    private func control(
        _ base: String?, _ next: String, sequence: Int64 = 1,
        _ change: (inout RolloutControl) -> Void = { _ in }
    ) -> String {
        var control = RolloutControl(
            id: "r-7", epoch: 1, sequence: sequence, audience: "@fleet", at: 0,
            base: base.map { id($0, 41) }, next: id(next, 42), below: .max)
        change(&control)
        return String(decoding: control.encoded(), as: UTF8.self)
    }

    private func route(_ url: String, in harness: AgentHarness, id: String) async throws -> JSONValue? {
        try await harness.command("{\"id\":\"\(id)\",\"type\":\"open\",\"url\":\"scheme://router/\(url)\"}")
            .result["route"]
    }

    private func isSubscribed(_ harness: AgentHarness) -> Bool {
        harness.link.subscribed.withLock { $0.contains(Self.topic + "/map/next") }
    }

    @Test func `a chosen agent subscribes to the candidate, puts it in force, and goes back without any map`()
        async throws
    {
        let harness = try await AgentHarness(router: router())
        let (base, next) = (map(41, ("demo", "demo1")), map(42, ("demo", "demo2")))
        harness.receive(base, on: Self.topic + "/map")
        harness.receive(control(base, next), on: Self.topic + "/rollout")
        try await harness.until("the subscription") { isSubscribed($0) }
        #expect(try await route("demo", in: harness, id: "a") == "scheme://router/demo1")
        harness.receive(next, on: Self.topic + "/map/next")
        let applied = try await harness.applied { $0["rollout"]?["in"] == "next" }
        #expect(applied["layers"]?[0]?["rev"] == 42 && applied["rollout"]?["why"] == "chosen")
        #expect(try await route("demo", in: harness, id: "b") == "scheme://router/demo2")
        try await harness.until("the end of the subscription") { !isSubscribed($0) }

        harness.receive(
            control(base, next, sequence: 2) {
                $0.state = .takingBack
                $0.below = 0
            }, on: Self.topic + "/rollout")
        #expect(try await route("demo", in: harness, id: "c") == "scheme://router/demo1")
        _ = try await harness.applied { $0["rollout"]?["in"] == "base" && $0["rollout"]?["seq"] == 2 }
    }

    @Test func `no document takes effect before it is stored, and each is taken when it comes again`()
        async throws
    {
        let harness = try await AgentHarness(router: router())
        let directory = harness.agent.configuration.stateDirectory
        let (base, next) = (map(41, ("demo", "demo1")), map(42, ("demo", "demo2")))
        let patch =
            #"[{"routerType":1,"orginPath":"scheme://router/demo3","targetPath":"scheme://router/demo1"}]"#
        let documents = [
            (base, Self.topic + "/map"), (patch, "waypost/v1/k1/map/patch"),
            (control(base, next), Self.topic + "/rollout"), (next, Self.topic + "/map/next"),
        ]
        for (document, topic) in documents {
            let before = harness.agent.maps.applied
            #expect(harness.receive("", on: topic) == .acknowledge, "\(topic)")
            try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
            #expect(harness.receive(document, on: topic) == .refuse, "\(topic)")
            #expect(harness.agent.maps.applied == before, "\(topic)")
            try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
            #expect(harness.receive(document, on: topic) == .acknowledge, "\(topic)")
            #expect(harness.agent.maps.applied != before, "\(topic)")
        }
        try await harness.close()
    }

    // Between the decision and the swap of the router a report said that the candidate was refused; one such report
    // pauses a roll-out.
    @Test func `a candidate that is about to be put in force is never said to be refused`() async throws {
        let harness = try await AgentHarness(router: router())
        let (base, next) = (map(41, ("demo", "demo1")), map(42, ("demo", "demo2")))
        harness.receive(base, on: Self.topic + "/map")
        harness.receive(control(base, next), on: Self.topic + "/rollout")
        harness.receive(next, on: Self.topic + "/map/next")
        // On a thread of its own: those of tasks may all be busy.
        let isOver = Guarded(false)
        let reasons = Guarded<Set<String>>([])
        let failure = PlainThread.start(name: "watch") {
            while !isOver.withLock(\.self) {
                let now = harness.agent.maps.applied.rollouts.map(\.reason.rawValue)
                reasons.withLock { $0.formUnion(now) }
            }
        }
        #expect(failure == nil)
        try await harness.until("the first look") { _ in reasons.withLock { $0 == ["chosen"] } }
        for sequence in 1...200 as ClosedRange<Int64> {
            let back = control(base, next, sequence: 2 * sequence) {
                $0.state = .takingBack
                $0.below = 0
            }
            harness.receive(back, on: Self.topic + "/rollout")
            harness.receive(control(base, next, sequence: 2 * sequence + 1), on: Self.topic + "/rollout")
        }
        isOver.withLock { $0 = true }
        #expect(reasons.withLock { !$0.contains("refused") })
    }

    @Test func `one that is not chosen never asks for the candidate`() async throws {
        let harness = try await AgentHarness(router: router())
        let (base, next) = (map(41, ("demo", "demo1")), map(42, ("demo", "demo2")))
        harness.receive(base, on: Self.topic + "/map")
        harness.receive(control(base, next) { $0.below = 0 }, on: Self.topic + "/rollout")
        let applied = try await harness.applied { $0["rollout"] != nil }
        #expect(applied["rollout"]?["why"] == "not-chosen")
        harness.receive(next, on: Self.topic + "/map/next")
        #expect(try await route("demo", in: harness, id: "a") == "scheme://router/demo1")
        #expect(!isSubscribed(harness))
    }

    @Test func `the promotion renames the layer, and nothing else changes`() async throws {
        let harness = try await AgentHarness(router: router())
        let (base, next) = (map(41, ("demo", "demo1")), map(42, ("demo", "demo2")))
        harness.receive(base, on: Self.topic + "/map")
        harness.receive(control(base, next), on: Self.topic + "/rollout")
        harness.receive(next, on: Self.topic + "/map/next")
        harness.receive(
            control(base, next, sequence: 2) { $0.state = .promoting }, on: Self.topic + "/rollout")
        harness.receive(next, on: Self.topic + "/map")
        harness.receive(control(base, next, sequence: 3) { $0.state = .done }, on: Self.topic + "/rollout")
        #expect(try await route("demo", in: harness, id: "a") == "scheme://router/demo2")
        #expect(harness.agent.maps.applied.layers.map(\.revision) == [42])
        // The candidate is no longer on the disk.
        let stored = try harness.agent.store.commit { try $0.maps() }
        #expect(stored.map(\.layer) == ["@fleet"])
    }

    @Test func `the candidate is in force again after a restart, before the network is there`() async throws {
        var directory = ""
        let (base, next) = (map(41, ("demo", "demo1")), map(42, ("demo", "demo2")))
        do {
            let harness = try await AgentHarness(router: router())
            directory = harness.agent.configuration.stateDirectory
            harness.receive(base, on: Self.topic + "/map")
            harness.receive(control(base, next, sequence: 5), on: Self.topic + "/rollout")
            harness.receive(next, on: Self.topic + "/map/next")
            try await harness.close()
        }
        let router = try router()
        let harness = try await AgentHarness(directory: directory, router: router, isOnline: false)
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo2")
        harness.link.connect(sessionPresent: true)
        // The fence holds over the restart.
        harness.receive(
            control(base, next, sequence: 4) { $0.state = .takingBack }, on: Self.topic + "/rollout")
        #expect(try await harness.failure { $0.origin == .map }.code == .rollback)
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo2")
        try await harness.close()
    }

    @Test func `a candidate with other bytes than the control document names is refused`() async throws {
        let harness = try await AgentHarness(router: router())
        let (base, next) = (map(41, ("demo", "demo1")), map(42, ("demo", "demo2")))
        harness.receive(base, on: Self.topic + "/map")
        harness.receive(control(base, next), on: Self.topic + "/rollout")
        harness.receive(map(42, ("demo", "demo3")), on: Self.topic + "/map/next")
        #expect(try await harness.failure { $0.origin == .map }.code == .equivocation)
        #expect(try await route("demo", in: harness, id: "a") == "scheme://router/demo1")
        // The right one still comes.
        harness.receive(next, on: Self.topic + "/map/next")
        #expect(try await route("demo", in: harness, id: "b") == "scheme://router/demo2")
    }

    @Test
    func
        `of two groups that are fine alone and a cycle together one is refused, and fits when the other goes`()
        async throws
    {
        let harness = try await AgentHarness(router: router())
        let (forth, back) = (map(42, ("demo", "demo1")), map(42, ("demo1", "demo")))
        harness.receive(control(nil, forth), on: Self.topic + "/rollout")
        harness.receive(forth, on: Self.topic + "/map/next")
        harness.receive(control(nil, back) { $0.audience = "@all" }, on: "waypost/v1/@all/rollout")
        harness.receive(back, on: "waypost/v1/@all/map/next")
        let failure = try await harness.failure { $0.origin == .map }
        #expect(failure.code == .cycle)
        _ = try await harness.applied { applied in
            let reasons = (applied["rollouts"]?.arrayValue ?? []).compactMap { $0["why"]?.stringValue }
            return reasons.sorted() == ["chosen", "refused"]
        }
        // When the one that is in force goes, the other fits.
        let inForce = harness.agent.maps.applied.layers.map(\.name)
        let group = try #require(inForce.first)
        let (topic, map) = group == "@all" ? ("waypost/v1/@all", back) : (Self.topic, forth)
        harness.receive(
            control(nil, map, sequence: 2) {
                $0.audience = group
                $0.state = .takingBack
            }, on: topic + "/rollout")
        try await harness.until("the other candidate") {
            $0.agent.maps.applied.layers.map(\.name) == (group == "@all" ? ["@fleet"] : ["@all"])
        }
    }

    @Test func `a map by hand with a newer revision wins, and the agent says that it drifted`() async throws {
        let harness = try await AgentHarness(router: router())
        let (base, next) = (map(41, ("demo", "demo1")), map(42, ("demo", "demo2")))
        harness.receive(base, on: Self.topic + "/map")
        harness.receive(control(base, next), on: Self.topic + "/rollout")
        harness.receive(next, on: Self.topic + "/map/next")
        harness.receive(map(50, ("demo", "demo3")), on: Self.topic + "/map")
        #expect(try await route("demo", in: harness, id: "a") == "scheme://router/demo3")
        let applied = try await harness.applied { $0["rollout"]?["why"] == "drifted" }
        #expect(applied["layers"]?[0]?["rev"] == 50)
    }

    @Test func `the guard takes the agent back while it is offline, and it says so later`() async throws {
        let router = try router()
        let harness = try await AgentHarness(router: router)
        let (base, next) = (map(41, ("demo", "demo1")), map(42, ("demo", "broken")))
        harness.receive(base, on: Self.topic + "/map")
        harness.receive(
            control(base, next) { $0.limit = .init(failures: 3, share: 50, within: 60_000) },
            on: Self.topic + "/rollout")
        harness.receive(next, on: Self.topic + "/map/next")
        harness.link.disconnect()
        for _ in 0..<3 { #expect(await !router.open("scheme://router/demo").isSuccess) }
        harness.link.tick()
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo1")
        harness.link.connect(sessionPresent: true)
        let failure = try await harness.failure { $0.code == .rolloutGuard }
        #expect(failure.map?.revision == 42 && failure.detail.contains("3 of 3 opens"))
        let applied = try await harness.applied { $0["rollout"]?["why"] == "guarded" }
        #expect(applied["rollout"]?["opened"] == 3 && applied["rollout"]?["failed"] == 3)
    }

    @Test func `its own map hides the origin: the candidate is in force, and counts no opens`() async throws {
        let harness = try await AgentHarness(router: router())
        let next = map(42, ("demo", "demo2"))
        harness.receive(map(1, ("demo", "demo3")), on: "waypost/v1/k1/map")
        harness.receive(control(nil, next), on: Self.topic + "/rollout")
        harness.receive(next, on: Self.topic + "/map/next")
        #expect(try await route("demo", in: harness, id: "a") == "scheme://router/demo3")
        #expect(harness.agent.maps.applied.layers.map(\.name) == ["@fleet", "agent"])
    }

    @Test func `failures are blamed on the map of the roll-out while it lasts`() async throws {
        let harness = try await AgentHarness(router: router())
        let next = map(42, ("demo", "demo2"))
        harness.receive(map(7), on: "waypost/v1/k1/map")
        harness.receive(control(nil, next), on: Self.topic + "/rollout")
        harness.receive(next, on: Self.topic + "/map/next")
        _ = try await harness.command(#"{"id":"a","type":"open","url":"scheme://router/gone"}"#)
        let failure = try await harness.failure { $0.code == .noRoute }
        #expect(failure.map == .init(layer: "@fleet", revision: 42))
        harness.receive(
            control(nil, next, sequence: 2) { $0.state = .takenBack }, on: Self.topic + "/rollout")
        _ = try await harness.command(#"{"id":"b","type":"open","url":"scheme://router/lost"}"#)
        let later = try await harness.failure { $0.ref == "b" }
        #expect(later.map == .init(layer: "agent", revision: 7))
    }

    @Test func `empty payloads and what is no document change nothing`() async throws {
        let harness = try await AgentHarness(router: router())
        let (base, next) = (map(41, ("demo", "demo1")), map(42, ("demo", "demo2")))
        harness.receive(base, on: Self.topic + "/map")
        harness.receive(control(base, next), on: Self.topic + "/rollout")
        harness.receive(next, on: Self.topic + "/map/next")
        for topic in ["/rollout", "/map/next"] { harness.receive("", on: Self.topic + topic) }
        harness.receive("{}", on: Self.topic + "/rollout")
        #expect(try await harness.failure { $0.origin == .map }.code == .badField)
        #expect(try await route("demo", in: harness, id: "a") == "scheme://router/demo2")
    }

    @Test func `who hears nothing goes back by the clock that only goes forward`() async throws {
        let harness = try await AgentHarness(router: router())
        let (base, next) = (map(41, ("demo", "demo1")), map(42, ("demo", "demo2")))
        harness.receive(base, on: Self.topic + "/map")
        harness.receive(
            control(base, next) {
                $0.hold = 60_000
                $0.silent = .revert
            }, on: Self.topic + "/rollout")
        harness.receive(next, on: Self.topic + "/map/next")
        #expect(try await route("demo", in: harness, id: "a") == "scheme://router/demo2")
        // The wall clock does not matter, an hour forth or back.
        harness.clock.step(3_600_000)
        harness.link.tick()
        harness.clock.step(-7_200_000)
        harness.link.tick()
        #expect(harness.agent.maps.applied.layers.map(\.revision) == [42])
        harness.clock.advance(61_000)
        harness.link.tick()
        #expect(harness.agent.maps.applied.layers.map(\.revision) == [41])
        _ = try await harness.applied { $0["rollout"]?["why"] == "silent" }
    }

    @Test func `with a new session and no map, an agent says that it wants one, and then no more`()
        async throws
    {
        let harness = try await AgentHarness(router: router())
        harness.clock.advance(4_999)
        harness.link.tick()
        #expect(!harness.agent.maps.applied.isWanted)
        harness.clock.advance(1)
        harness.link.tick()
        _ = try await harness.applied { $0["want"] == true }
        harness.receive(map(41, ("demo", "demo1")), on: Self.topic + "/map")
        _ = try await harness.applied { $0["want"] == nil && $0["layers"]?[0]?["rev"] == 41 }
    }

    @Test func `answers to a ping with a spread come, each once`() async throws {
        let harness = try await AgentHarness(router: router())
        let reply = try await harness.command(#"{"id":"p","type":"ping","spread":50}"#)
        #expect(reply.code == .ok && reply.result["agent"] == "k1")
        let failed = try await harness.command(#"{"id":"q","type":"ping","spread":60001}"#)
        #expect(failed.code == .badField)
    }
}
