import MQTTLink
import Synchronization
import Testing
import Waypost
import WaypostMessages

/// A backend at the broker: sends commands and maps, and sees everything that is published under the root.
actor Backend {
    /// Generous, for a loaded machine; nothing waits this long when all is well.
    static let patience = Duration.seconds(60)

    struct Seen: Sendable {
        var topic: String
        var text: String
        var isRetained: Bool
        var json: JSONValue? { try? JSONValue(parsing: text, limits: .trustedFile) }
        /// A payload on `log/` holds a line an event.
        var lines: [JSONValue] {
            text.split(separator: "\n").compactMap {
                try? JSONValue(parsing: String($0), limits: .trustedFile)
            }
        }
    }

    private let session: MQTTSession
    private let topics = Topics.standard
    private var seen: [Seen] = []
    private var waiting:
        [(matches: @Sendable (Seen) -> Bool, continuation: CheckedContinuation<Seen?, Never>)] = []
    private var reader: Task<Void, Never>?

    init(broker: String, name: String = "backend") async throws {
        let configuration = MQTTLinkConfiguration.oneShot(
            brokers: [try BrokerURL(broker)], clientID: "\(name)-\(UInt32.random(in: 0...UInt32.max))")
        session = try await MQTTSession.connect(configuration, within: Self.patience)
        _ = try await session.subscribe([Subscription("waypost/v1/#")])
        reader = Task { [session] in
            for await message in session.messages { self.saw(message) }
        }
    }

    func publish(_ payload: String, to topic: String, retain: Bool = false) async throws {
        try await publish(Array(payload.utf8), to: topic, retain: retain)
    }

    func publish(_ payload: [UInt8], to topic: String, retain: Bool = false) async throws {
        let result = try await session.publish(
            MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce, retain: retain))
        #expect(result == .acknowledged)
    }

    /// Sends a command and waits for its terminal reply.
    func command(_ payload: String, to agent: String, from sender: String = "me") async throws -> Reply {
        let id = try #require(try JSONValue(parsing: payload)["id"]?.stringValue)
        try await publish(payload, to: topics.command(to: .agent(agent), from: sender))
        return try await reply(to: id, of: agent, from: sender)
    }

    func reply(to id: String, of agent: String, from sender: String = "me") async throws -> Reply {
        let topic = topics.reply(of: agent, to: sender)
        let seen = try await first { seen in
            guard seen.topic == topic, let json = seen.json else { return false }
            return json["id"]?.stringValue == id && json["status"]?.stringValue != "accepted"
        }
        return try Reply(try #require(seen.json))
    }

    /// The failure report about a command.
    func failure(ref: String, of agent: String) async throws -> FailureReport {
        let topic = topics.failures(of: agent)
        let seen = try await first { $0.topic == topic && $0.json?["ref"]?.stringValue == ref }
        return try FailureReport(try #require(seen.json))
    }

    /// The log event that matches.
    func event(of agent: String, where matches: @escaping @Sendable (JSONValue) -> Bool) async throws
        -> JSONValue
    {
        let prefix = "\(topics.root)/\(agent)/log/"
        let seen = try await first { $0.topic.hasPrefix(prefix) && $0.lines.contains(where: matches) }
        return try #require(seen.lines.first(where: matches))
    }

    /// What was or will be published on the topic and matches.
    func message(
        on topic: String, where matches: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async throws -> JSONValue {
        let seen = try await first { $0.topic == topic && $0.json.map(matches) == true }
        return try #require(seen.json)
    }

    /// Everything seen so far that matches.
    func all(where matches: (Seen) -> Bool) -> [Seen] { seen.filter(matches) }

    func forget() { seen = [] }

    func disconnect() async {
        reader?.cancel()
        await session.disconnect()
    }

    func first(where matches: @escaping @Sendable (Seen) -> Bool) async throws -> Seen {
        if let known = seen.first(where: matches) { return known }
        let alarm = Task {
            try await Task.sleep(for: Self.patience)
            self.giveUp()
        }
        defer { alarm.cancel() }
        let found = await withCheckedContinuation { waiting.append((matches, $0)) }
        return try #require(found, "nothing of the kind came within \(Self.patience)")
    }

    private func giveUp() {
        for entry in waiting { entry.continuation.resume(returning: nil) }
        waiting = []
    }

    private func saw(_ message: MQTTMessage) {
        let item = Seen(
            topic: message.topic, text: String(decoding: message.payload, as: UTF8.self),
            isRetained: message.retain)
        seen.append(item)
        waiting.removeAll { entry in
            guard entry.matches(item) else { return false }
            entry.continuation.resume(returning: item)
            return true
        }
    }
}
