import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite final class `How far a command is`: Sendable {
    private let (isFree, free) = AsyncStream.makeStream(of: Void.self)
    private let kept = Guarded<RouteRequest?>(nil)

    private struct Loader: Sendable {}

    private func router() throws -> Router {
        let router = Router()
        try router.register("a://load") { [self] request in
            for step in 1...100 { request.progress(Double(step) / 100, "step \(step) token=abc") }
            kept.withLock { $0 = request }
            for await _ in isFree { break }
            return .opened()
        }
        try router.services.expose(
            ExposedService("Loader", make: { Loader() }) {
                Exposed("load()") { (_: Loader) -> Int in
                    HandlerProgress.report(0.25, "loading")
                    return 1
                }
            })
        return router
    }

    private func told(_ harness: AgentHarness, _ id: String) -> [JSONValue] {
        harness.published.events.compactMap { message in
            guard message.topic == "waypost/v1/k1/reply/me",
                let json = try? JSONValue(parsing: message.payload), json["id"]?.stringValue == id
            else { return nil }
            return json["status"] == "accepted" ? json["progress"] : nil
        }
    }

    @Test func `is told at most once a second, the newest then, and never after its end`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(#"{"id":"c1","type":"open","url":"a://load"}"#, on: "waypost/v1/k1/cmd/me")
        try await harness.until("the first") { self.told($0, "c1").count == 1 }
        try await harness.until("the handler to wait") { _ in self.kept.withLock { $0 != nil } }
        #expect(told(harness, "c1").first?["done"] == 0.01)
        #expect(told(harness, "c1").first?["text"]?.stringValue?.contains("abc") == false)
        harness.clock.advance(LaneQueues.progressPause)
        try await harness.until("the newest") { self.told($0, "c1").count == 2 }
        #expect(told(harness, "c1").last?["done"] == 1.0)
        free.finish()
        #expect(try await harness.reply(to: "c1").code == .ok)
        harness.clock.advance(10 * LaneQueues.progressPause)
        kept.withLock { $0 }?.progress(0.5, "late")
        #expect(try await harness.command(#"{"id":"p","type":"ping"}"#).code == .ok)
        #expect(told(harness, "c1").count == 2)
        #expect(try harness.agent.store.commit { try $0.unfinished() }.isEmpty)
        try await harness.close()
    }

    @Test func `is said by a method too, and by no one where no agent asked`() async throws {
        let router = try router()
        let harness = try await AgentHarness(router: router)
        let call = #"{"id":"c1","type":"call","service":"Loader","method":"load"}"#
        #expect(try await harness.command(call).code == .ok)
        try await harness.until("its progress") {
            self.told($0, "c1") == [["done": 0.25, "text": "loading"]]
        }
        HandlerProgress.report(0.5)
        #expect(try await router.services.call("Loader", "load()") == 1)
        #expect(told(harness, "c1").count == 1)
        try await harness.close()
    }

    @Test func `is bounded`() {
        let fractions: [(Double, Double?)] = [
            (.nan, nil), (.infinity, 1), (-.infinity, 0), (-1, 0), (7, 1), (0.4, 0.4),
        ]
        for (given, kept) in fractions { #expect(HandlerProgress(given).fraction == kept) }
        let text = HandlerProgress(0, String(repeating: "ä", count: 10_000)).text ?? ""
        #expect((200...256).contains(text.utf8.count))
        let reply = Reply.progress(HandlerProgress(0.4, "a"), id: "c", attempt: 1, at: 1)
        #expect((try? Reply(JSONValue(parsing: reply.encoded())))?.progress == HandlerProgress(0.4, "a"))
    }
}
