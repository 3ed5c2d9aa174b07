import Dispatch
import Synchronization
import TestSupport
import Testing
import Threading

@testable import MQTTLink

@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `The thread that a link lends` {
    private final class Gate: Sendable {
        let opens = DispatchSemaphore(value: 0)
        let isTaken = Atomic(false)
        /// Calls that have returned.
        let ended = Atomic(0)
    }

    private func observer(at url: BrokerURL) async throws -> MQTTSession {
        try await MQTTSession.connect(.oneShot(brokers: [url], clientID: "observer"), within: .seconds(60))
    }

    /// Publishes numbers, each once the delegate has the one before.
    private func publish(
        _ range: ClosedRange<UInt8>, to recorder: LinkRecorder, from observer: MQTTSession
    ) async throws {
        for number in range {
            #expect(
                try await observer.publish(MQTTMessage(topic: "in", payload: [number], qos: .atLeastOnce))
                    == .acknowledged)
            try await recorder.received(Int(number))
        }
    }

    @Test(arguments: [true, false])
    func `can be kept by the delegate, and the link goes on with another, up to its end`(
        _ isKeptByItself: Bool
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let url = try BrokerURL(broker.url)
        let observer = try await observer(at: url)
        let gate = Gate()
        let recorder = LinkRecorder(lent: { loan in
            defer { gate.ended.add(1, ordering: .relaxed) }
            guard !gate.isTaken.exchange(true, ordering: .relaxed) else { return }
            if isKeptByItself {
                #expect(loan.keep())
            } else {
                DispatchQueue.global().async { #expect(loan.keep()) }
            }
            gate.opens.wait()
            #expect(loan.keep())
        })
        let link = MQTTLink(
            configuration: MQTTLinkConfiguration(
                brokers: [url], clientID: "lender", subscriptions: [Subscription("in", qos: .atLeastOnce)]),
            delegate: recorder)
        link.start()
        try await recorder.connected()
        try await publish(1...5, to: recorder, from: observer)
        link.publish([
            OutgoingMessage(token: 7, message: MQTTMessage(topic: "out", payload: [1], qos: .atLeastOnce))
        ])
        try await recorder.log.wait(for: "a receipt") { $0.contains { !$0.receipts.isEmpty } }
        // The thread that comes back late finds another in its place, and goes.
        gate.opens.signal()
        try await eventually("the five that were blocked") { gate.ended.load(ordering: .relaxed) == 5 }
        try await publish(6...10, to: recorder, from: observer)
        await link.stop(within: .seconds(10))
        #expect(recorder.messages.map(\.payload) == (1...10).map { [$0] })
        #expect(recorder.receipts.count == 1)
        #expect(recorder.connections.count == 1)
        await observer.disconnect()
    }

    @Test func `changes in a pause, when the link gives up memory`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let url = try BrokerURL(broker.url)
        let observer = try await observer(at: url)
        let threads = EventLog<Int64>()
        let recorder = LinkRecorder(lent: { _ in threads.append(CurrentThread.id) })
        let link = MQTTLink(
            configuration: MQTTLinkConfiguration(
                brokers: [url], clientID: "mover", subscriptions: [Subscription("in", qos: .atLeastOnce)]),
            delegate: recorder)
        link.start()
        try await recorder.connected()
        try await publish(1...3, to: recorder, from: observer)
        link.releaseMemory()
        // The first may still find the old one.
        try await publish(4...6, to: recorder, from: observer)
        try await threads.wait(for: "six batches") { $0.count == 6 }
        #expect(Set(threads.events.prefix(3)).count == 1)
        #expect(Set(threads.events.suffix(2)).count == 1)
        #expect(threads.events[0] != threads.events[5])
        await link.stop(within: .seconds(10))
        #expect(recorder.messages.map(\.payload) == (1...6).map { [$0] })
        #expect(recorder.connections.count == 1)
        await observer.disconnect()
    }

    /// Sends a message to a link whose delegate refuses its acknowledgement the first time; returns the two deliveries.
    private func deliveries(
        _ version: MQTTLinkConfiguration.ProtocolVersion, lent: @escaping @Sendable (ThreadLoan) -> Void
    ) async throws -> [MQTTMessage] {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let url = try BrokerURL(broker.url)
        let observer = try await observer(at: url)
        let asked = Gate()
        let recorder = LinkRecorder(
            lent: lent,
            agrees: { asked.isTaken.exchange(true, ordering: .relaxed) ? .acknowledge : .refuse })
        var configuration = MQTTLinkConfiguration(
            brokers: [url], clientID: "asked", subscriptions: [Subscription("in", qos: .atLeastOnce)])
        configuration.protocolVersion = version
        configuration.cleanStart = false
        let link = MQTTLink(configuration: configuration, delegate: recorder)
        link.start()
        try await recorder.connected()
        _ = try await observer.publish(MQTTMessage(topic: "in", payload: [1], qos: .atLeastOnce))
        let messages = try await recorder.received(2)
        #expect(recorder.reasons.map(\.cause) == [.batchRefused])
        await link.stop(within: .seconds(10))
        await observer.disconnect()
        return messages
    }

    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v5, .v311])
    func `is followed by a question, and without a yes the message comes again, marked as a duplicate`(
        _ version: MQTTLinkConfiguration.ProtocolVersion
    ) async throws {
        let messages = try await deliveries(version, lent: { _ in })
        #expect(messages.map(\.isDuplicate) == [false, true])
        #expect(messages.map(\.payload) == [[1], [1]])
    }

    @Test func `is followed by that question on another thread, when it was kept`() async throws {
        let gate = Gate()
        let messages = try await deliveries(
            .v5,
            lent: { loan in
                guard !gate.isTaken.exchange(true, ordering: .relaxed) else { return }
                #expect(loan.keep())
                gate.opens.wait()
            })
        gate.opens.signal()
        #expect(messages.map(\.isDuplicate) == [false, true])
    }

    @Test func `does not hold the end of the link when it was kept`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let url = try BrokerURL(broker.url)
        let gate = Gate()
        defer { gate.opens.signal() }
        let recorder = LinkRecorder(lent: { loan in
            #expect(loan.keep())
            gate.opens.wait()
        })
        // Its own message comes back to it.
        let link = MQTTLink(
            configuration: MQTTLinkConfiguration(
                brokers: [url], clientID: "lender", subscriptions: [Subscription("in")]),
            delegate: recorder)
        link.start()
        try await recorder.connected()
        link.publish([OutgoingMessage(token: 1, message: MQTTMessage(topic: "in", payload: [1]))])
        try await recorder.received(1)
        await link.stop(within: .seconds(10))
        #expect(gate.ended.load(ordering: .relaxed) == 0)
    }

    @Test func `is given away once, and not after it was returned`() {
        let started = Mutex(0)
        let kept = ThreadLoan {
            started.withLock { $0 += 1 }
            return true
        }
        #expect(kept.keep() && kept.keep())
        #expect(!kept.end())
        #expect(started.withLock { $0 } == 1)
        let returned = ThreadLoan {
            started.withLock { $0 += 1 }
            return true
        }
        #expect(returned.end())
        #expect(returned.keep())
        #expect(started.withLock { $0 } == 1)
    }

    @Test func `stays lent when the system has no other thread`() {
        let hasThreads = Atomic(false)
        let loan = ThreadLoan { hasThreads.load(ordering: .relaxed) }
        #expect(!loan.keep())
        hasThreads.store(true, ordering: .relaxed)
        #expect(loan.keep())
        #expect(!loan.end())
    }
}
