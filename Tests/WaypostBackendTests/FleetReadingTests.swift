import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost
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

@Suite struct `The past that agents have` {
    @Test func `is read for a limited time where one sends page after page for ever`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let settings = try BackendConfiguration(broker: broker.url, name: "ops")
        let topics = settings.topics
        let agents = ["quick", "slow"]
        let answering = Task {
            let filters = agents.map { topics.command(to: .agent($0), from: "+") }
            try await BackendSession.with(settings, required: filters) { session in
                for agent in agents {
                    let state = #"{"state":"online","epoch":1,"boot":"b","why":"birth"}"#
                    try await session.publish(
                        MQTTMessage(topic: topics.state(of: agent), payload: Array(state.utf8), retain: true))
                }
                var sequence: Int64 = 20_000
                while case .message(let message) = try await session.next() {
                    guard let id = message.json?["id"]?.stringValue else { continue }
                    let isSlow = message.topic.contains("/slow/")
                    sequence -= 1
                    let next: JSONValue = isSlow ? ["boot": "b", "seq": .int(sequence)] : .null
                    let page: JSONValue = ["boot": "b", "events": [], "next": next]
                    try await session.publish(
                        .json(
                            topics.reply(of: isSlow ? "slow" : "quick", to: "ops"),
                            Reply(id: id, code: .ok, result: page, at: 0).encoded()))
                }
            }
        }
        defer { answering.cancel() }

        var replay = ReplayCollector(agents: agents, sender: "ops", topics: topics)
        let filters = agents.map { topics.reply(of: $0, to: "ops") }
        try await BackendSession.with(settings, required: filters + [topics.state(of: "+")]) { session in
            var online = 0
            while online < 2, case .message = try await session.next() { online += 1 }
            try await session.read(&replay, first: .seconds(600), longest: .milliseconds(500)) { _ in }
        }
        let gaps = replay.gaps
        #expect(
            gaps.count == 1
                && gaps.first?.hasPrefix(
                    "what slow has was not all read within 500 ms; its events before seq ")
                    == true,
            "\(gaps)")
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
