import Glibc
import MQTTLink
import Synchronization
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// Holds threads until it is opened.
private final class Barrier: Sendable {
    private let isOpen = Atomic(false)
    private let holding = Atomic(0)

    /// Threads that it holds.
    var held: Int { holding.load(ordering: .acquiring) }

    func open() { isOpen.store(true, ordering: .releasing) }

    func hold() {
        holding.add(1, ordering: .acquiringAndReleasing)
        while !isOpen.load(ordering: .acquiring) { usleep(1_000) }
        holding.subtract(1, ordering: .acquiringAndReleasing)
    }
}

private final class Counter: Sendable {
    let value = Atomic(0)
}

@Suite(.timeLimit(.minutes(60))) struct `Handlers that block their threads` {
    fileprivate let barrier = Barrier()
    private let quickRuns = Counter()
    fileprivate let waits = Counter()
    fileprivate let blocked = 2 * Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    fileprivate func router() throws -> Router {
        let (barrier, quickRuns, waits) = (barrier, quickRuns, waits)
        let router = Router()
        try router.register("app://block", idempotent: true) { _ in
            barrier.hold()
            return .opened()
        }
        try router.register("app://spin", idempotent: true) { _ in
            while !Task.isCancelled { usleep(1_000) }
            return .opened()
        }
        try router.register("app://wait", idempotent: true) { _ in
            waits.value.add(1, ordering: .relaxed)
            try await Task.sleep(for: .seconds(3_600))
            return .opened()
        }
        try router.register("app://bad-cancel", idempotent: true) { _ in
            waits.value.add(1, ordering: .relaxed)
            try await withTaskCancellationHandler {
                try await Task.sleep(for: .seconds(3_600))
            } onCancel: {
                barrier.hold()
            }
            return .opened()
        }
        try router.register("app://quick", idempotent: true) { _ in
            quickRuns.value.add(1, ordering: .relaxed)
            return .opened("quick")
        }
        return router
    }

    fileprivate func open(_ id: String, _ url: String, lane: String) -> String {
        #"{"id":"\#(id)","type":"open","url":"app://\#(url)","lane":"\#(lane)"}"#
    }

    @Test func `stop neither pings, deadlines, health nor other lanes, twice as many as there are cores`()
        async throws
    {
        let harness = try await AgentHarness(router: router()) {
            $0.healthInterval = .seconds(1)
            $0.limits.handlerDeadline = .seconds(10)
        }
        defer { barrier.open() }
        for number in 0..<blocked {
            harness.receive(open("b\(number)", "block", lane: "b\(number)"), on: "waypost/v1/k1/cmd/me")
        }
        try await harness.until("the handlers block") { _ in barrier.held == blocked }
        #expect(try await harness.command(#"{"id":"p1","type":"ping"}"#).code == .ok)
        #expect(try await harness.command(open("q1", "quick", lane: "q")).result["value"] == "quick")
        harness.receive(open("w1", "wait", lane: "w"), on: "waypost/v1/k1/cmd/me")
        try await harness.until("all run") { _ in waits.value.load(ordering: .relaxed) == 1 }
        let count = harness.published.events.count
        harness.clock.advance(10_000)
        for id in ["w1", "b0", "b\(blocked - 1)"] {
            let late = try await harness.reply(to: id)
            #expect(late.code == .deadline)
            #expect(late.detail == "the handler did not end within 10000 ms")
        }
        _ = try await harness.document("health", after: count)
        #expect(try await harness.command(#"{"id":"p2","type":"ping"}"#).code == .ok)
        #expect(harness.check("handlers") == true)
        barrier.open()
        try await harness.close()
    }

    @Test func `of one sender leave threads to the others, and health names the sender`() async throws {
        let harness = try await AgentHarness(router: router()) {
            $0.healthInterval = .seconds(1)
            $0.limits.handlerThreads = 8
            $0.limits.senderShare = 25
        }
        defer { barrier.open() }
        for number in 0..<20 {
            harness.receive(open("b\(number)", "block", lane: "b\(number)"), on: "waypost/v1/k1/cmd/greedy")
        }
        try await harness.until("its share is blocked, and that is seen") { harness in
            barrier.held == 2 && harness.check("handlers") == false
        }
        let text = harness.agent.health.checks.first { $0.name == "handlers" }?.detail ?? ""
        #expect(text.contains("greedy"), "\(text)")
        for number in 0..<20 {
            let reply = try await harness.command(open("q\(number)", "quick", lane: "q"), from: "other")
            #expect(reply.result["value"] == "quick")
        }
        #expect(barrier.held == 2)
        barrier.open()
        for number in 0..<20 {
            #expect(try await harness.reply(to: "b\(number)", from: "greedy").code == .ok)
        }
        try await harness.close()
    }

    @Test func `with all threads blocked, another command ends at its deadline and never begins`()
        async throws
    {
        let harness = try await AgentHarness(router: router()) {
            $0.limits.handlerThreads = 2
            $0.limits.senderShare = 100
            $0.limits.handlerDeadline = .seconds(10)
        }
        defer { barrier.open() }
        for id in ["b1", "b2"] {
            harness.receive(open(id, "block", lane: id), on: "waypost/v1/k1/cmd/me")
        }
        try await harness.until("the handlers block") { _ in barrier.held == 2 }
        harness.receive(open("q1", "quick", lane: "q"), on: "waypost/v1/k1/cmd/me")
        try await harness.until("health shows it") { $0.check("handlers") == false }
        harness.clock.advance(10_000)
        let late = try await harness.reply(to: "q1")
        #expect(late.code == .deadline)
        #expect(late.detail?.contains("no thread was free") == true)
        #expect(try await harness.command(#"{"id":"p","type":"ping"}"#).code == .ok)
        barrier.open()
        #expect(try await harness.command(open("q2", "quick", lane: "q")).code == .ok)
        try await harness.until("health shows it") { $0.check("handlers") == true }
        #expect(quickRuns.value.load(ordering: .relaxed) == 1)
        try await harness.close()
    }

    @Test func `are cancelled at their deadline though no thread for handlers is free`() async throws {
        let harness = try await AgentHarness(router: router()) {
            $0.limits.handlerThreads = 2
            $0.limits.senderShare = 100
            $0.limits.handlerDeadline = .seconds(10)
        }
        for id in ["s1", "s2"] {
            harness.receive(open(id, "spin", lane: id), on: "waypost/v1/k1/cmd/me")
        }
        harness.receive(open("q1", "quick", lane: "q"), on: "waypost/v1/k1/cmd/me")
        try await harness.until("both run") { $0.check("handlers") == false }
        harness.clock.advance(10_000)
        #expect(try await harness.reply(to: "s1").code == .deadline)
        #expect(try await harness.command(open("q2", "quick", lane: "q")).code == .ok)
        try await harness.close()
    }

    @Test func `hold neither the link nor other commands when they block in their cancellation`() async throws
    {
        let harness = try await AgentHarness(router: router()) { $0.limits.handlerDeadline = .seconds(10) }
        defer { barrier.open() }
        harness.receive(open("c1", "bad-cancel", lane: "c"), on: "waypost/v1/k1/cmd/me")
        try await harness.until("it waits") { _ in waits.value.load(ordering: .relaxed) == 1 }
        let canceled = try await harness.command(#"{"id":"x","type":"cancel","target":"c1"}"#)
        #expect(canceled.result["was"] == "running")
        try await harness.until("its cancellation blocks") { _ in barrier.held == 1 }
        #expect(try await harness.command(open("q1", "quick", lane: "q")).code == .ok)
        harness.clock.advance(10_000)
        #expect(try await harness.reply(to: "c1").code == .canceled)
        barrier.open()
        try await harness.close()
    }

    @Test func `do not hold a stop`() async throws {
        let harness = try await AgentHarness(router: router()) {
            $0.limits.handlerThreads = 2
            $0.limits.senderShare = 100
            $0.stopWithin = .seconds(2)
        }
        defer { barrier.open() }
        for id in ["b1", "b2", "b3"] {
            harness.receive(open(id, "block", lane: id), on: "waypost/v1/k1/cmd/me")
        }
        try await harness.until("the handlers block") { _ in barrier.held == 2 }
        try await harness.close()
        #expect(barrier.held == 2)
    }

    @Test func `do not hold the start either, when it is the set-up of a module that blocks`() async throws {
        struct Blocking: RouteModule {
            let name: String
            let barrier: Barrier
            func setUp() async throws { barrier.hold() }
        }
        let router = try router()
        router.declare([Blocking(name: "Shop", barrier: barrier)])
        defer { barrier.open() }
        let harness = try await AgentHarness(router: router) {
            $0.limits.handlerDeadline = .seconds(1)
        }
        #expect(barrier.held == 1)
        #expect(try await harness.command(#"{"id":"p","type":"ping"}"#).code == .ok)
        barrier.open()
        try await harness.close()
    }

    // A handler's own `Task {}` runs on the threads that all tasks of a process share, also those of other tests.
    @Test(.oneProcessAtATime)
    func `stop nothing of the agent with tasks of their own that block all shared threads`() async {
        await #expect(processExitsWith: .success) { try await BlockedPool().check() }
    }
}

/// A process whose shared threads are all blocked.
private struct BlockedPool {
    private let tests = `Handlers that block their threads`()

    func check() async throws {
        let (barrier, tasks, waits) = (tests.barrier, tests.blocked, tests.waits)
        let router = try tests.router()
        try router.register("app://spawn", idempotent: true) { _ in
            for _ in 0..<tasks { Task { barrier.hold() } }
            return .opened()
        }
        let harness = try await AgentHarness(router: router) {
            $0.healthInterval = .seconds(1)
            $0.limits.handlerDeadline = .seconds(10)
        }
        // On a thread that no task uses.
        try await offThePool {
            defer { barrier.open() }
            let published = harness.published
            func wait(for what: String, _ holds: () -> Bool) throws {
                var patience = Patience()
                while !holds() {
                    usleep(1_000)
                    if patience.isOver(at: published.events.count) { throw Timeout(what: what) }
                }
            }
            func wait(_ topic: String, after count: Int = 0, _ text: String) throws {
                try wait(for: "\(text) on \(topic)") {
                    published.events.dropFirst(count).contains {
                        $0.topic.hasPrefix("waypost/v1/k1/\(topic)")
                            && String(decoding: $0.payload, as: UTF8.self).contains(text)
                    }
                }
            }
            func send(_ payload: String) { harness.receive(payload, on: "waypost/v1/k1/cmd/me") }
            send(self.tests.open("s", "spawn", lane: "s"))
            // As many as there are cores; the rest waits.
            try wait(for: "all shared threads to be blocked") { barrier.held >= tasks / 2 }
            try wait("reply/me", #""id":"s""#)
            send(#"{"id":"p","type":"ping"}"#)
            try wait("reply/me", #""id":"p""#)
            send(self.tests.open("q", "quick", lane: "q"))
            try wait("reply/me", #""id":"q""#)
            try wait("log/i", "opened app://quick")
            send("no JSON")
            try wait("fail", "BAD_JSON")
            send(self.tests.open("w", "wait", lane: "w"))
            try wait(for: "the handler that waits") { waits.value.load(ordering: .relaxed) == 1 }
            let count = published.events.count
            harness.clock.advance(10_000)
            try wait("health", after: count, "checks")
            try wait("reply/me", after: count, "DEADLINE")
        }
        try await harness.close()
    }
}
