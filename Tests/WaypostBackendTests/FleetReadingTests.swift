import MQTTLink
import TestSupport
import Testing
import Threading
import WaypostMessages

@testable import WaypostBackend

@Suite struct `What a broker keeps of a fleet` {
    @Test func `is read while more of it is subscribed to, so that it does not all wait here`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        var settings = try BackendConfiguration(broker: broker.url, name: "ops")
        let topics = settings.topics
        try await BackendSession.with(settings, required: []) { session in
            for topic in [topics.state(of: "a1"), topics.contract(of: "a1")] {
                try await session.publish(MQTTMessage(topic: topic, payload: [0x20], retain: true))
            }
        }
        let isRead = OneShotEvent()
        settings.makeLink = {
            PatientLink(MQTTLink(configuration: $0, delegate: $1), with: topics.contract(of: "+")) {
                await isRead.waitUnlessCancelled()
            }
        }
        var read: Set<String> = []
        let survey = try await MapSurvey.read(of: .group("all"), settings, within: .seconds(30)) {
            if $0.topic == topics.state(of: "a1") { isRead.fire() }
            read.insert($0.topic)
        }
        #expect(survey.seesMembers)
        #expect(read.isSuperset(of: [topics.state(of: "a1"), topics.contract(of: "a1")]))
    }

    @Test func `is all there when the broker answers late, and twice, each time within the limit`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        var settings = try BackendConfiguration(broker: broker.url, name: "ops")
        let fence = settings.topics.reply(of: "+", to: "ops")
        settings.makeLink = {
            PatientLink(MQTTLink(configuration: $0, delegate: $1), with: fence) {
                try? await Task.sleep(for: .milliseconds(1_200))
            }
        }
        try await BackendSession.with(settings, required: []) { session in
            // More than once, for a machine that has other things to do is later than the limit.
            try await eventually("all that the broker keeps") {
                try await session.readAsMuch(within: .seconds(2)) { _ in } == .whole
            }
        }
    }

    @Test func `is read to its end while other calls of the program have the broker send it again and again`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let settings = try BackendConfiguration(broker: broker.url, name: "ops")
        let topics = settings.topics
        try await SharedLink.with(settings) { shared in
            let others = Task {
                while !Task.isCancelled {
                    try await BackendSession.with(shared, required: [topics.state(of: "a1")]) { _ in }
                }
            }
            defer { others.cancel() }
            try await BackendSession.with(shared, required: [topics.state(of: "+")]) { session in
                try await session.publish(
                    MQTTMessage(topic: topics.state(of: "a1"), payload: [0x20], retain: true))
                #expect(try await session.readAsMuch(within: .seconds(30)) { _ in } == .whole)
            }
        }
    }
}

/// Subscribes to a filter only once something has happened.
private final class PatientLink: MessageLink {
    private let link: MQTTLink
    private let filter: String
    private let happened: @Sendable () async -> Void

    init(_ link: MQTTLink, with filter: String, _ happened: @escaping @Sendable () async -> Void) {
        (self.link, self.filter, self.happened) = (link, filter, happened)
    }

    func subscribe(
        _ subscriptions: [Subscription]
    ) async throws(CancellationError) -> [SubscriptionResult]? {
        if subscriptions.contains(where: { $0.filter == filter }) { await happened() }
        return try await link.subscribe(subscriptions)
    }

    func start() { link.start() }
    func publish(_ messages: [OutgoingMessage]) { link.publish(messages) }
    func unsubscribe(_ filters: [String]) { link.unsubscribe(filters) }
    func renew(credentials: Credentials?, tls: TLSOptions?) { link.renew(credentials: credentials, tls: tls) }
    func releaseMemory() { link.releaseMemory() }
    func stop(after goodbyes: [MQTTMessage], within limit: Duration) async {
        await link.stop(after: goodbyes, within: limit)
    }
}
