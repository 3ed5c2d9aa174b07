import Foundation
import Glibc
import TestSupport
import Testing

@testable import MQTTLink

/// Many links on one thread.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct SharedThreadTests {
    private func link(
        _ number: Int, at broker: TestBroker, on thread: LinkThread
    ) throws -> (MQTTLink, LinkRecorder) {
        let recorder = LinkRecorder()
        let configuration = try MQTTLinkConfiguration.test(
            broker, id: "shared-\(number)", subscriptions: [Subscription("to/\(number)")])
        let link = MQTTLink(configuration: configuration, delegate: recorder)
        link.start(on: thread)
        return (link, recorder)
    }

    @Test func `each of thirty gets what is for it, and goes on when others end and the broker restarts`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let thread = LinkThread()
        let links = try (0..<30).map { try link($0, at: broker, on: thread) }
        for (_, recorder) in links { _ = try await recorder.connected() }
        for (number, (link, _)) in links.enumerated() {
            link.publish([OutgoingMessage(1, "to/\((number + 1) % 30)", "from \(number)")])
        }
        for (number, (_, recorder)) in links.enumerated() {
            #expect(try await recorder.received(1).map(\.text) == ["from \((number + 29) % 30)"])
        }
        for (link, _) in links[..<10] { await link.stop() }
        try await broker.restart()
        for (_, recorder) in links[10...] { _ = try await recorder.connected(times: 2) }
        links[10].0.publish([OutgoingMessage(2, "to/29", "again")])
        #expect(try await links[29].1.received(2).last?.text == "again")
        for (link, _) in links[10...] { await link.stop() }
        // The thread has ended with the last one, and another one begins.
        let (last, recorder) = try link(99, at: broker, on: thread)
        _ = try await recorder.connected()
        await last.stop()
    }

    @Test func `a link that is let go of ends alone, and its will is sent`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let thread = LinkThread()
        let (watcher, seen) = try link(1, at: broker, on: thread)
        _ = try await seen.connected()
        let recorder = LinkRecorder(will: { _ in MQTTMessage("to/1", "gone") })
        var dropped: MQTTLink? = MQTTLink(
            configuration: try .test(broker, id: "dropped") { $0.willDelay = 0 }, delegate: recorder)
        dropped?.start(on: thread)
        _ = try await recorder.connected()
        dropped = nil
        #expect(try await seen.received(1).map(\.text) == ["gone"])
        await watcher.stop()
    }
}
