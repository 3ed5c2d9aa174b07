import MQTTLink
package import Waypost
import WaypostMessages

/// What the broker keeps of one agent, and how that differs from what the agent itself says.
package struct RetainedDocuments: Sendable {
    /// A retained message.
    package struct Document: Sendable {
        package var topic: String
        package var bytes: Int
        /// What it says, in a word or two.
        package var text: String
    }

    package let agent: String
    /// In the order of the topics.
    package let documents: [Document]
    private let payloads: [String: [UInt8]]
    private let topics: Topics

    /// Reads what the broker keeps.
    ///
    /// - Throws: ``BackendError`` when there is no broker.
    package static func read(_ agent: String, _ settings: BackendConfiguration) async throws
        -> RetainedDocuments
    {
        let topics = settings.topics
        let filters = [
            topics.state(of: agent), topics.health(of: agent), topics.routes(of: agent),
            topics.contract(of: agent), topics.navigation(of: agent), topics.applied(of: agent),
            topics.map(of: .agent(agent)), topics.groups(of: agent),
        ]
        var payloads: [String: [UInt8]] = [:]
        try await BackendSession.with(settings, required: [], useful: filters) { session in
            try await session.readRetained { message in
                if message.retain { payloads[message.topic] = message.payload }
            }
        }
        return RetainedDocuments(agent, filters, payloads, topics)
    }

    init(_ agent: String, _ filters: [String], _ payloads: [String: [UInt8]], _ topics: Topics) {
        self.agent = agent
        self.payloads = payloads
        self.topics = topics
        documents = filters.compactMap { topic in
            payloads[topic].map { Document(topic: topic, bytes: $0.count, text: Self.text($0)) }
        }
    }

    private static func text(_ payload: [UInt8]) -> String {
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
    package func differences(from health: JSONValue?) -> [String] {
        var found: [String] = []
        let state = json(topics.state(of: agent)).flatMap { try? AgentState($0) }
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
    package func json(_ topic: String) -> JSONValue? {
        payloads[topic].flatMap { try? JSONValue(parsing: $0, limits: .trustedFile) }
    }
}

extension MapFile {
    /// The revision of a document, signed or not.
    fileprivate static func revision(_ json: JSONValue) -> Int64? {
        (try? document(json))?["rev"]?.boundedInt
    }
}
