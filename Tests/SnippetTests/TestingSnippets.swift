import Testing
import Waypost

// snippet
func openTwoOrders() async throws -> (urls: [String], shown: [String]) {
    let router = Router(configuration: RouterConfiguration(registersLinked: false))
    let stack = NavigationStack()
    try router.register(.page("myapp://orders/:id", name: "OrderScreen", in: stack))
    let openings = router.openings()
    _ = await router.open("myapp://orders/1")
    _ = await router.open("myapp://orders/2")
    var urls: [String] = []
    for await opening in openings {
        urls.append(opening.url)
        if urls.count == 2 { break }
    }
    return (urls, stack.state.stack.map(\.url))
}
// end snippet

// snippet
@Sendable func addCampaign(_ open: PendingOpen) -> OpenHookDecision {
    open.url.hasPrefix("myapp://shop") ? .open(open.url + "?campaign=spring") : .proceed
}

func decide() -> [OpenHookDecision] {
    [
        addCampaign(PendingOpen(url: "myapp://shop")),
        addCampaign(PendingOpen(url: "myapp://help")),
    ]
}
// end snippet

// snippet
func findSlowHandler(with clock: any Clock<Duration>) async throws -> Opening {
    let router = Router(
        configuration: RouterConfiguration(
            handlerDeadline: .seconds(10), registersLinked: false, clock: clock))
    try router.register("myapp://slow") { _ in
        try await Task.sleep(for: .seconds(3_600))
        return .opened()
    }
    return await router.open("myapp://slow")
}
// end snippet

@Suite struct `Snippets on testing` {
    /// A clock on which every wait is over at once.
    private struct RushingClock: Clock {
        typealias Instant = ContinuousClock.Instant
        var now: Instant { ContinuousClock.now }
        var minimumResolution: Duration { .zero }
        func sleep(until deadline: Instant, tolerance: Duration?) async throws { await Task.yield() }
    }

    @Test func `a stream has the opens in order, and the model what was shown`() async throws {
        let found = try await openTwoOrders()
        #expect(found.urls == ["myapp://orders/1", "myapp://orders/2"])
        #expect(found.shown == found.urls)
    }

    @Test func `a hook is asked alone`() {
        #expect(decide() == [.open("myapp://shop?campaign=spring"), .proceed])
    }

    @Test func `a clock that the test turns ends a slow handler`() async throws {
        #expect(try await findSlowHandler(with: RushingClock()).code == .deadline)
    }
}
