import Synchronization
import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) final class `Wait for a gate`: Sendable {
    private let gate = OpenGate("login")
    private let isLoggedIn = Guarded(false)

    private func router(atMost limit: Duration = .seconds(600)) throws -> Router {
        let router = try recordingRouter([("a://orders/:id", "Orders"), ("a://other", "Other")])
        try router.intercept("guard", scope: .patterns(["a://orders/:id"])) { [self] _ in
            isLoggedIn.withLock(\.self) ? .proceed : .wait(for: gate, atMost: limit)
        }
        return router
    }

    private func until(_ holds: () -> Bool) async throws {
        try await eventually("the opens that wait", holds)
    }

    @Test func `an open goes on when it is opened, and is listed until then`() async throws {
        let router = try router()
        let kinds = Guarded<[RouterEvent.Kind]>([])
        router.observe { event in kinds.withLock { $0.append(event.kind) } }
        let opening = Task {
            await router.open("a://orders/7?token=x", context: OpenContext(ref: "c-1", caller: "ops"))
        }
        try await until { !router.waitingOpens.isEmpty }
        let waiting = try #require(router.waitingOpens.first)
        #expect(waiting.gate == "login" && waiting.interceptor == "guard")
        #expect(waiting.ref == "c-1" && waiting.caller == "ops")
        #expect(waiting.json["url"] == "a://orders/7?token=***")
        // Other opens go on, and opening the gate too early lets no one through.
        #expect(await router.open("a://other").isSuccess)
        gate.open()
        try await until { kinds.withLock { $0.filter { $0 == .waiting }.count } == 2 }
        isLoggedIn.withLock { $0 = true }
        gate.open()
        #expect(await opening.value.value?["params"] == ["id": "7", "token": "x"])
        #expect(router.waitingOpens.isEmpty)
    }

    @Test func `an interceptor that opens its own gate is not asked for ever`() async throws {
        let router = Router()
        try router.register("a://x") { _ in .opened() }
        try router.intercept { [gate] _ in
            gate.open()
            return .wait(for: gate, atMost: .milliseconds(20))
        }
        let opening = await router.open("a://x")
        #expect(opening.code == .deadline)
        #expect(opening.detail.contains("waited too long for login"))
    }

    @Test func `what happens between the question and the wait is not missed`() async throws {
        let router = Router()
        try router.register("a://x") { _ in .opened() }
        let gate = gate
        let asked = Atomic(0)
        try router.intercept { _ in
            guard asked.wrappingAdd(1, ordering: .relaxed).newValue <= 100 else { return .proceed }
            gate.open()
            return .wait(for: gate, atMost: .seconds(600))
        }
        #expect(await router.open("a://x").isSuccess)
        #expect(asked.load(ordering: .relaxed) == 101)
    }

    @Test func `many opens and many openings leave no one waiting`() async throws {
        let router = try router()
        await withTaskGroup { group in
            for number in 0..<200 {
                group.addTask { #expect(await router.open("a://orders/\(number)").isSuccess) }
            }
            group.addTask { [self] in
                for _ in 0..<100 {
                    gate.open()
                    await Task.yield()
                }
                isLoggedIn.withLock { $0 = true }
                gate.open()
            }
        }
        #expect(router.waitingOpens.isEmpty)
    }

    @Test func `the time is over once, however often the gate is opened`() async throws {
        let router = try router(atMost: .milliseconds(200))
        let opener = Task { [gate] in
            while !Task.isCancelled {
                gate.open()
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
        let opening = await router.open("a://orders/7")
        opener.cancel()
        #expect(opening.code == .deadline)
        #expect(opening.detail == "a://orders/7 waited too long for login")
        #expect(opening.duration >= .milliseconds(200))
    }

    @Test func `cancelling the task ends it`() async throws {
        let router = try router()
        let opening = Task { await router.open("a://orders/7") }
        try await until { !router.waitingOpens.isEmpty }
        opening.cancel()
        #expect(await opening.value.code == .canceled)
        #expect(router.waitingOpens.isEmpty)
    }

    @Test func `an open that waited for a map follows it`() async throws {
        let router = try router()
        let opening = Task { await router.open("a://orders/7") }
        try await until { !router.waitingOpens.isEmpty }
        let map: JSONValue = [
            ["routerType": 1, "orginPath": "a://orders/:id", "targetPath": "a://other?id=:id"]
        ]
        try router.relocate([RelocationLayer(name: "map", entries: RelocationEntry.list(map))])
        gate.open()
        let value = await opening.value
        #expect(value.route == "a://other" && value.hops == ["a://other?id=7"])
        #expect(value.value?["params"] == ["id": "7"])
    }

    @Test func `an open that waited behind redirects begins again where a hook had sent it`() async throws {
        let router = try router()
        router.willOpen { $0.url == "a://start" ? .open(" a://old ") : .proceed }
        func relocate(to target: String) throws {
            try router.relocate([
                RelocationLayer(
                    name: "map", entries: [RelocationEntry(.replace(origin: "a://old", target: target))])
            ])
        }
        try relocate(to: "a://orders/7")
        let opening = Task { await router.open("a://start") }
        try await until { !router.waitingOpens.isEmpty }
        try relocate(to: "a://other")
        gate.open()
        #expect(await opening.value.hops == ["a://old", "a://other"])
    }

    @Test func `a fallback that waited begins again as a fallback`() async throws {
        let router = try router()
        let opening = Task { await router.open("a://none?route_fallback_url=a://orders/7") }
        try await until { !router.waitingOpens.isEmpty }
        try router.register("a://new") { _ in .opened() }
        isLoggedIn.withLock { $0 = true }
        gate.open()
        #expect(await opening.value.outcome == .fellBack(to: "a://orders/7"))
    }

    @Test func `one sender takes no more than its share`() async throws {
        let router = try router()
        let opens = (0..<WaitingOpens.maximumOfCaller).map { number in
            Task { await router.open("a://orders/\(number)", context: OpenContext(caller: "flood")) }
        }
        try await until { router.waitingOpens.count == WaitingOpens.maximumOfCaller }
        #expect(await router.open("a://orders/x", context: OpenContext(caller: "flood")).code == .busy)
        let other = Task { await router.open("a://orders/x", context: OpenContext(caller: "ops")) }
        try await until { router.waitingOpens.count == WaitingOpens.maximumOfCaller + 1 }
        isLoggedIn.withLock { $0 = true }
        gate.open()
        #expect(await other.value.isSuccess)
        for open in opens { #expect(await open.value.isSuccess) }
    }

    @Test func `no more than a thousand wait`() async throws {
        let router = try router()
        let gate = gate
        let opens = (0..<WaitingOpens.maximum).map { number in
            Task { await router.open("a://orders/\(number)") }
        }
        try await until { router.waitingOpens.count == WaitingOpens.maximum }
        #expect(await router.open("a://orders/one-more").code == .busy)
        isLoggedIn.withLock { $0 = true }
        gate.open()
        for open in opens { #expect(await open.value.isSuccess) }
    }
}
