import Foundation
import MQTTLink
import Threading
public import Waypost
package import WaypostMessages

/// A backend at the broker: sends commands and maps, and sees everything that is published under the root.
public final class Backend: Sendable {
    /// A message as it was on the wire.
    public struct Seen: Sendable {
        /// Its topic.
        public var topic: String
        /// Its payload.
        public var text: String
        /// Whether it was there before we were.
        public var isRetained: Bool
        /// The payload's JSON.
        public var json: JSONValue? { try? JSONValue(parsing: text, limits: .trustedFile) }
        /// A payload on `log/` holds a line an event.
        public var lines: [JSONValue] {
            text.split(separator: "\n").compactMap {
                try? JSONValue(parsing: String($0), limits: .trustedFile)
            }
        }
    }

    /// What a test waits for did not come, or was not taken.
    public struct Failure: Error, CustomStringConvertible {
        /// What was waited for.
        public let description: String
    }

    private let session: MQTTSession
    private let topics = Topics.standard
    private let log = EventLog<Seen>()
    private let reader: Task<Void, Never>
    /// What the test published itself: no agent's word, and not held against the document of what agents say.
    private let own: Own

    private final class Own: Sendable {
        // Its hash is one call, where that of an array is one for each byte.
        private let payloads = Guarded<Set<Data>>([])
        func add(_ payload: [UInt8]) { payloads.withLock { _ = $0.insert(Data(payload)) } }
        func has(_ payload: [UInt8]) -> Bool { payloads.withLock { $0.contains(Data(payload)) } }
    }

    /// Connects and subscribes to everything.
    public init(broker: String, name: String = "backend") async throws {
        let configuration = MQTTLinkConfiguration.oneShot(
            brokers: [try BrokerURL(broker)], clientID: "\(name)-\(UInt32.random(in: 0...UInt32.max))")
        let session = try await patiently("\(name)'s connection to \(broker)") {
            try await MQTTSession.connect(configuration, within: .seconds(3_600), messageLimit: 1_000_000)
        }
        _ = try await session.subscribe([Subscription("waypost/v1/#")])
        self.session = session
        let own = Own()
        self.own = own
        reader = Task { [log] in
            for await message in session.messages {
                if !own.has(message.payload) {
                    WireCapture.shared?.take(topic: message.topic, payload: message.payload)
                }
                log.append(
                    Seen(
                        topic: message.topic, text: String(decoding: message.payload, as: UTF8.self),
                        isRetained: message.retain))
            }
        }
    }

    /// Everything seen so far.
    public var seen: [Seen] { log.events }

    /// Publishes text at QoS 1 and waits for the broker's acknowledgement.
    public func publish(_ payload: String, to topic: String, retain: Bool = false) async throws {
        try await publish(Array(payload.utf8), to: topic, retain: retain)
    }

    /// Publishes bytes at QoS 1 and waits for the broker's acknowledgement.
    public func publish(_ payload: [UInt8], to topic: String, retain: Bool = false) async throws {
        own.add(payload)
        let result = try await session.publish(
            MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce, retain: retain))
        guard result == .acknowledged else { throw Failure(description: "publish on \(topic): \(result)") }
    }

    /// Leaves at the broker what an agent does that is online; it never answers.
    public func pretendAgent(_ name: String, in group: String) async throws {
        try await publish(
            #"{"state":"online","epoch":1,"boot":"b","why":"birth"}"#, to: "waypost/v1/\(name)/state",
            retain: true)
        try await publish(
            #"{"type":"health","status":"green","epoch":1,"boot":"b","groups":["\#(group)"]}"#,
            to: "waypost/v1/\(name)/health", retain: true)
        try await wait(for: "the health of \(name)") { $0.last?.topic == "waypost/v1/\(name)/health" }
    }

    /// Sends a command and waits for its terminal reply.
    package func command(_ payload: String, to agent: String, from sender: String = "me") async throws
        -> Reply
    {
        guard let id = try JSONValue(parsing: payload)["id"]?.stringValue else {
            throw Failure(description: "no id in \(payload)")
        }
        let before = seen.count
        try await publish(payload, to: topics.command(to: .agent(agent), from: sender))
        return try await reply(to: id, of: agent, from: sender, after: before)
    }

    /// Waits for the terminal reply to a command, the first that was seen after so many messages.
    package func reply(
        to id: String, of agent: String, from sender: String = "me", after count: Int = 0
    ) async throws -> Reply {
        let topic = topics.reply(of: agent, to: sender)
        let json = try await json(after: count, on: "the reply to \(id)") { seen in
            // Most are about other commands, and some are long.
            guard seen.topic == topic, Data(seen.text.utf8).range(of: Data(id.utf8)) != nil,
                let json = seen.json
            else { return nil }
            return json["id"]?.stringValue == id && json["status"]?.stringValue != "accepted" ? json : nil
        }
        return try Reply(json)
    }

    /// Waits for the failure report about a command.
    package func failure(ref: String, of agent: String) async throws -> FailureReport {
        let topic = topics.failures(of: agent)
        return try FailureReport(
            try await json(on: "the failure report about \(ref)") { seen in
                guard seen.topic == topic, let json = seen.json else { return nil }
                return json["ref"]?.stringValue == ref ? json : nil
            })
    }

    /// Waits for a log event that matches.
    public func event(
        of agent: String, where matches: @escaping @Sendable (JSONValue) -> Bool
    ) async throws -> JSONValue {
        let prefix = "\(topics.root)/\(agent)/log/"
        return try await json(on: "an event of \(agent)") { seen in
            seen.topic.hasPrefix(prefix) ? seen.lines.first(where: matches) : nil
        }
    }

    /// Waits for a message on the topic that matches, the first that was seen after so many messages.
    public func message(
        on topic: String, after count: Int = 0,
        where matches: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async throws -> JSONValue {
        try await json(after: count, on: topic) { seen in
            guard seen.topic == topic, let json = seen.json else { return nil }
            return matches(json) ? json : nil
        }
    }

    /// Waits until everything seen fulfils a condition, as long as messages come.
    public func wait(
        for what: String, within quiet: Duration = Patience.usual,
        until condition: @escaping @Sendable ([Seen]) -> Bool
    ) async throws {
        try await log.wait(for: what, within: quiet, until: condition)
    }

    /// Leaves the broker.
    public func disconnect() async {
        await session.disconnect()
        reader.cancel()
    }

    // Each message is read once, however many come: reading all of them for each would keep the threads of all tests.
    private func json(
        after count: Int = 0, on what: String, find: @escaping @Sendable (Seen) -> JSONValue?
    ) async throws -> JSONValue {
        try await log.first(what, after: count, find)
    }
}
