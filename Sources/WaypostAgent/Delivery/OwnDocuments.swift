package import MQTTLink
import WaypostFleet

/// Notices that another client removed or overwrote what the broker keeps of the agent, and says when it is published again.
///
/// A decision only: who calls it publishes.
struct OwnDocuments: Sendable {
    /// How many versions of a document are known as the agent's own.
    ///
    /// On MQTT 3.1.1 a broker sends them back, some after the next one was published.
    private static let versions = 8

    /// The hashes of what was published last, by topic.
    private var published: [String: [Int]] = [:]
    private var wishes = RepeatedWishes()
    /// Those that will be published again, by topic.
    private var isDue: Set<String> = []

    /// The agent published a version of a document.
    mutating func published(_ payload: [UInt8], on topic: String) {
        defer { assert(isConsistent) }
        published[topic, default: []].append(Self.hash(of: payload))
        if let count = published[topic]?.count, count > Self.versions { published[topic]?.removeFirst() }
    }

    /// Something came on the topic of a document: when the document is to be published again, on the clock of `now`; nil
    /// when it is the agent's own, or will be published again already.
    ///
    /// - Parameters:
    ///   - hasEchoes: Whether the broker sends back what the agent publishes itself.
    ///   - now: On a clock that only goes forward, in milliseconds.
    mutating func came(_ payload: [UInt8], on topic: String, hasEchoes: Bool, at now: Int64) -> Int64? {
        defer { assert(isConsistent) }
        guard let known = published[topic]?.suffix(hasEchoes ? Self.versions : 1),
            !known.contains(Self.hash(of: payload)), isDue.insert(topic).inserted
        else { return nil }
        return wishes.time(of: topic, at: now)
    }

    // An array hashes byte by byte.
    private static func hash(of payload: [UInt8]) -> Int {
        var hasher = Hasher()
        payload.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    /// It is published again now.
    mutating func willPublishAgain(_ topic: String) { isDue.remove(topic) }

    /// Whether nothing is due that was never there, and no more is remembered than is asked for.
    private var isConsistent: Bool {
        isDue.allSatisfy { published[$0] != nil } && published.values.allSatisfy { $0.count <= Self.versions }
    }
}

extension MQTTMessage {
    /// A retained document about the agent itself.
    package static func retained(_ topic: String, _ payload: [UInt8]) -> MQTTMessage {
        var properties = MQTTProperties()
        properties.contentType = "application/json"
        properties.payloadIsUTF8 = true
        return MQTTMessage(
            topic: topic, payload: payload, qos: .atLeastOnce, retain: true, properties: properties)
    }
}
