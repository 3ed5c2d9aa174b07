import Synchronization
import TestSupport
import Testing

@testable import Waypost

@Suite(.patient) struct `Read while writing` {
    @Test func `an open sees the table before a change or after it, never a mix`() async throws {
        let router = try recordingRouter([("a://old", "Old"), ("a://new", "New")])
        // Under one map both names lead to one page, under the other to the other one.
        let maps = ["a://old", "a://new"].map { target in
            [
                RelocationLayer(
                    name: "agent",
                    entries: (0..<50).map {
                        RelocationEntry(.replace(origin: "a://page/\($0)", target: target))
                    })
            ]
        }
        try router.relocate(maps[0])
        let stop = Flag()
        await withTaskGroup { group in
            for reader in 0..<8 {
                group.addTask {
                    var opens = 0
                    while !stop.isUp.load(ordering: .relaxed) || opens < 20 {
                        let opening = await router.open("a://page/\((opens + reader) % 50)")
                        #expect(opening.isSuccess)
                        #expect(opening.hops.count == 1)
                        #expect(opening.hops.first == opening.url)
                        _ = router.canOpen("a://new")
                        opens += 1
                        // An open whose handler does not wait gives no other task a turn.
                        await Task.yield()
                    }
                }
            }
            group.addTask {
                for turn in 0..<100 {
                    do {
                        try router.relocate(maps[turn % 2])
                        try router.register("a://extra/\(turn)") { _ in .opened() }
                        let handle = try router.intercept { _ in .proceed }
                        handle.cancel()
                        if turn > 10 { router.unregister("a://extra/\(turn - 10)") }
                    } catch {
                        Issue.record("\(error)")
                    }
                }
                stop.isUp.store(true, ordering: .relaxed)
            }
        }
        #expect(router.routeCount == 13)
    }

    @Test func `one of many routes is changed without copying the others`() throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        let count = 20_000
        let clock = ContinuousClock()
        let routes = (0..<count).map { number in Route("a://group/\(number)/:id") { _ in .opened() } }
        let all = try clock.measure { try router.register(routes) }
        let times = try (0..<5).map { turn in
            try clock.measure {
                try router.register("a://other/\(turn)") { _ in .opened() }
                router.unregister("a://other/\(turn)")
            }
        }
        // Copying them would cost about as much as registering them.
        let one = try #require(times.min())
        #expect(one * 20 < all)
        #expect(router.routeCount == count)
        #expect(router.canOpen("a://group/\(count - 1)/7"))
    }

    @Test func `a route takes the place of another only when asked`() async throws {
        let router = try recordingRouter([("a://x/:id", "First")])
        let error = #expect(throws: RegistrationError.self) {
            try router.register([
                Route("a://y") { _ in .opened() }, Route("a://x/:other") { _ in .opened("second") },
            ])
        }
        #expect(error == .conflict(pattern: "a://x/:other", heldBy: "a://x/:id"))
        #expect(!router.canOpen("a://y"))
        try router.register("a://x/:other", replacing: true) { _ in .opened("second") }
        #expect(await router.open("a://x/1").value == "second")
        #expect(router.routeCount == 1)
        let bad = #expect(throws: RegistrationError.self) {
            try router.register("a://x/:") { _ in .opened() }
        }
        #expect(bad == .badPattern("a://x/:", offset: 6, detail: "a placeholder without a name"))
        #expect(router.unregister("a://x/:other"))
        #expect(!router.unregister("a://x/:other"))
    }
}

/// Says once, across threads, that something is over.
final class Flag: Sendable {
    let isUp = Atomic(false)
}
