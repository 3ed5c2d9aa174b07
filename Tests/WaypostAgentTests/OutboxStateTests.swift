import MQTTLink
import Testing

@testable import WaypostAgent

@Suite struct `Outbox order and window` {
    private func item(_ name: String, _ kind: OutboxItem.Class = .reply) -> OutboxItem {
        OutboxItem(
            origin: .volatile, kind: kind, message: MQTTMessage(topic: name, payload: [], qos: .atLeastOnce))
    }

    @Test func `nothing is handed to the link while the broker is away`() {
        var outbox = OutboxState(window: 10)
        outbox.enqueued(item("a"))
        #expect(outbox.messagesToSend().isEmpty)
        outbox.connected(receiveMaximum: 10)
        #expect(outbox.messagesToSend().map(\.message.topic) == ["a"])
    }

    @Test func `no more than the broker's receive maximum is under way`() {
        var outbox = OutboxState(window: 10)
        outbox.connected(receiveMaximum: 2)
        for name in ["a", "b", "c"] { outbox.enqueued(item(name)) }
        let first = outbox.messagesToSend()
        #expect(first.map(\.message.topic) == ["a", "b"])
        #expect(outbox.messagesToSend().isEmpty)
        #expect(outbox.settled(first[0].token)?.message.topic == "a")
        #expect(outbox.messagesToSend().map(\.message.topic) == ["c"])
    }

    @Test func `presence goes before replies, replies before failures, failures before logs`() {
        var outbox = OutboxState(window: 10)
        outbox.enqueued(item("log", .log))
        outbox.enqueued(item("fail", .failure))
        outbox.enqueued(item("reply", .reply))
        outbox.enqueued(item("state", .presence))
        outbox.connected(receiveMaximum: 10)
        #expect(outbox.messagesToSend().map(\.message.topic) == ["state", "reply", "fail", "log"])
    }

    @Test func `what was under way when the connection went is sent again in its old order`() {
        var outbox = OutboxState(window: 3)
        outbox.connected(receiveMaximum: 10)
        for name in ["a", "b", "c", "d"] { outbox.enqueued(item(name)) }
        let sent = outbox.messagesToSend()
        _ = outbox.settled(sent[1].token)
        outbox.lost(sent[2].token)
        outbox.disconnected()
        #expect(outbox.messagesToSend().isEmpty)
        outbox.connected(receiveMaximum: 10)
        #expect(outbox.messagesToSend().map(\.message.topic) == ["a", "c", "d"])
        #expect(outbox.count == 3)
    }

    @Test func `a newer state takes the place of one that waits`() {
        var outbox = OutboxState(window: 3)
        outbox.replaced(OutboxItem(origin: .volatile, kind: .presence, message: .retained("state", [1])))
        outbox.replaced(OutboxItem(origin: .volatile, kind: .presence, message: .retained("health", [2])))
        outbox.replaced(OutboxItem(origin: .volatile, kind: .presence, message: .retained("state", [3])))
        outbox.connected(receiveMaximum: 10)
        #expect(outbox.messagesToSend().map(\.message.payload) == [[3], [2]])
    }
}
