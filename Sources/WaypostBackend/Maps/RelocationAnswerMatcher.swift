package import MQTTLink
import Waypost
import WaypostFleet
package import WaypostMessages

/// Recognises what agents say of one document among all that they publish on `map/applied`.
package struct RelocationAnswerMatcher: Sendable {
    private let topics: Topics
    private let audience: Audience
    private let layer: String
    private let digest: String
    private let isMap: Bool

    package init(_ relocation: Relocation, for audience: Audience, topics: Topics) {
        self.topics = topics
        self.audience = audience
        layer = relocation.layer(of: audience)
        digest = relocation.digest
        isMap = relocation.kind == .map
    }

    /// The answer to our document, if the message holds one.
    ///
    /// A retained message is what the agent said before us. It counts only for a map that is in force already:
    /// the agent then says nothing new.
    package func answer(in message: MQTTMessage) -> RelocationAnswer? {
        guard case (let agent, .applied)? = topics.outbound(message.topic), let json = message.json,
            let applied = try? AppliedMap(json)
        else { return nil }
        let line = JSONLine.make(agent: agent, payload: message.payload, json)
        if applied.layers.contains(where: { $0.name == layer && $0.digest == digest }) {
            guard !message.retain || isMap else { return nil }
            return RelocationAnswer(
                agent: agent, layer: layer, applied: applied,
                line: line)
        }
        guard !message.retain, let refused = applied.refused, isOurs(refused, json) else { return nil }
        return RelocationAnswer(agent: agent, layer: layer, refused: refused, applied: applied, line: line)
    }

    /// Whether the refusal is about our document: by its digest, or, when the agent gives none, by its layer,
    /// under which it names the audience.
    private func isOurs(_ refused: AppliedMap.Refused, _ json: JSONValue) -> Bool {
        if let found = json["refused"]?["digest"]?.stringValue { return found == digest }
        return refused.layer == layer || refused.layer == audience.description
    }
}
