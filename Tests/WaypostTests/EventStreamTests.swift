import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Events as a stream` {
    private func router() throws -> Router {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("e://:n") { request in .opened(request.parameters["n"]) }
        return router
    }

    @Test func `come in their order, from when the stream is made`() async throws {
        let router = try router()
        let openings = router.openings()
        let events = router.events()
        for n in 1...3 { _ = await router.open("e://\(n)") }
        _ = await router.open("e://1/none")
        var urls: [String] = []
        for await opening in openings {
            urls.append(opening.url)
            if urls.count == 4 { break }
        }
        #expect(urls == ["e://1", "e://2", "e://3", "e://1/none"])
        var kinds: [RouterEvent.Kind] = []
        for await event in events {
            kinds.append(event.kind)
            if event.code == .noRoute { break }
        }
        #expect(kinds == [.willOpen, .opened, .willOpen, .opened, .willOpen, .opened, .willOpen, .failed])
        #expect(events.dropped == 0)
    }

    @Test func `are bounded, and those that are dropped are counted`() async throws {
        let router = try router()
        let openings = router.openings(buffering: 3)
        for n in 1...10 { _ = await router.open("e://\(n)") }
        #expect(openings.dropped == 7)
        var iterator = openings.makeAsyncIterator()
        #expect(await iterator.next()?.url == "e://8")
        #expect(await iterator.next()?.url == "e://9")
    }

    @Test @MainActor func `are read on an actor, until the reading task is cancelled`() async throws {
        let router = try router()
        var shown: [String] = []
        let (first, continuation) = AsyncStream.makeStream(of: Void.self)
        let openings = router.openings()
        let reading = Task {
            for await opening in openings {
                MainActor.assertIsolated()
                shown.append(opening.url)
                continuation.yield()
            }
            continuation.finish()
        }
        _ = await router.open("e://1")
        for await _ in first { break }
        reading.cancel()
        await reading.value
        #expect(shown == ["e://1"])
        // Whoever reads no more costs nothing more.
        #expect(router.listeners.withLock { $0.openings.isEmpty })
    }

    @Test func `end when the stream is let go of`() async throws {
        let router = try router()
        do { _ = router.openings() }
        #expect(router.listeners.withLock { $0.openings.isEmpty })
    }

    @Test func `of services and of the navigator are there too`() async throws {
        let router = try router()
        try router.register(.page("e://page/:n", in: NavigationStack()))
        let states = router.navigationStates()
        let calls = router.services.events()
        _ = await router.open("e://page/1")
        _ = await router.open("e://page/2")
        var navigation = states.makeAsyncIterator()
        #expect(await navigation.next()?.top?.url == "e://page/2")
        _ = await ending { try await router.services.call("None", "none") }
        var events = calls.makeAsyncIterator()
        #expect(await events.next()?.code == .noService)
    }
}
