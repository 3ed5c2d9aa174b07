import MQTTLink
import Waypost
import WaypostMessages

/// What the broker keeps of one agent, and how that differs from what the agent itself says; see
/// ``AgentClient/retained()``.
public struct RetainedDocuments: Sendable {
    /// A retained message.
    public struct Document: Sendable, Hashable {
        /// Its topic.
        public let topic: String
        /// As the broker keeps it.
        public let payload: [UInt8]
        /// What it says, in a word or two: `online, birth`, `rev 7`.
        public var summary: String { RetainedDocuments.summary(payload) }
    }

    /// The agent.
    public let agent: String
    /// Its state first, and what others wrote for it last.
    public let documents: [Document]
    private let topics: Topics

    /// Reads what the broker keeps.
    ///
    /// - Throws: ``BackendError`` when there is no broker.
    static func read(_ agent: String, _ settings: BackendConfiguration) async throws -> RetainedDocuments {
        let filters = topics(of: agent, settings.topics)
        var payloads: [String: [UInt8]] = [:]
        try await BackendSession.with(settings, required: [], useful: filters) { session in
            try await session.readRetained { message in
                payloads[message.topic] = message.payload.isEmpty ? nil : message.payload
            }
        }
        return RetainedDocuments(agent, payloads, settings.topics)
    }

    init(_ agent: String, _ payloads: [String: [UInt8]], _ topics: Topics) {
        self.agent = agent
        self.topics = topics
        documents = Self.topics(of: agent, topics).compactMap { topic in
            payloads[topic].map { Document(topic: topic, payload: $0) }
        }
    }

    /// Each topic on which a broker keeps something of an agent.
    static func topics(of agent: String, _ topics: Topics) -> [String] {
        [
            topics.state(of: agent), topics.health(of: agent), topics.routes(of: agent),
            topics.contract(of: agent), topics.navigation(of: agent), topics.applied(of: agent),
            topics.groups(of: agent), topics.map(of: .agent(agent)),
        ]
    }

    private static func summary(_ payload: [UInt8]) -> String {
        guard let json = try? JSONValue(parsing: payload, limits: .trustedFile) else { return "no JSON" }
        if let state = json["state"]?.stringValue, let why = json["why"]?.stringValue {
            return "\(state), \(why)"
        }
        if let layers = json["layers"]?.arrayValue {
            let shown = layers.map {
                "\($0["layer"]?.stringValue ?? "?") rev \($0["rev"]?.boundedInt.map(String.init) ?? "-")"
            }
            return shown.isEmpty ? "no map" : shown.joined(separator: ", ")
        }
        if let status = json["status"]?.stringValue { return status }
        if json["entries"] != nil || json["type"] == "groups" || json["payload"] != nil {
            return MapFile.revision(json).map { "rev \($0)" } ?? "without rev"
        }
        return json.arrayValue.map { $0.count.counted("element") } ?? json.kind
    }

    /// How these differ from what the agent says now, each a sentence.
    ///
    /// - Parameter health: What it answered to a ping; nil when it did not.
    public func differences(from health: AgentHealth?) -> [String] {
        var found: [String] = []
        let health = health?.json
        switch (state?.isOnline, health) {
        case (true?, nil): found.append("the broker says that it is online, and it does not answer")
        case (false?, .some): found.append("the broker says that it is offline, and it answers")
        case (nil, .some): found.append("the broker keeps no state of it, and it answers")
        case (nil, nil): found.append("the broker keeps documents of it but no state, and it does not answer")
        default: break
        }
        guard let health else { return found }
        if let kept = json(topics.health(of: agent)), kept["boot"] != health["boot"] {
            found.append("the broker's health is of an earlier start of the agent")
        }
        let layers = Health(health).map.layers
        if let kept = json(topics.map(of: .agent(agent))), let revision = MapFile.revision(kept),
            case let inForce = layers.first(where: { $0.name == "agent" })?.revision, revision != inForce
        {
            let now = inForce.map { "rev \($0)" } ?? "none"
            found.append("the broker keeps map rev \(revision) for it, and in force is \(now)")
        }
        if let kept = json(topics.applied(of: agent)).flatMap({ try? AppliedMap($0) }),
            MapSummary(kept).layers != layers
        {
            found.append("the broker's map/applied is not what is in force")
        }
        return found
    }

    /// What is kept on a topic; nil when that is nothing, or no JSON.
    func json(_ topic: String) -> JSONValue? {
        documents.first { $0.topic == topic }.flatMap {
            try? JSONValue(parsing: $0.payload, limits: .trustedFile)
        }
    }

    /// Its state; nil when none is kept that can be read.
    var state: AgentState? { json(topics.state(of: agent)).flatMap { try? AgentState($0) } }
}

extension MapFile {
    /// The revision of a document, signed or not.
    fileprivate static func revision(_ json: JSONValue) -> Int64? {
        (try? document(json))?["rev"]?.boundedInt
    }
}
