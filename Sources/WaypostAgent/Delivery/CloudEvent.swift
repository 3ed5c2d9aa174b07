import MQTTLink
import WaypostMessages

/// The attributes of CloudEvents 1.0 that go with a message over MQTT 5, as user properties: its binary mode.
///
/// They repeat what the payload says; nothing depends on them.
struct CloudEvent {
    private let type: String
    private let source: String
    private let id: String
    private let time: String

    /// Nil for what is no event, such as the agent's message to itself.
    init?(_ message: MQTTMessage, _ topics: Topics, at now: Int64) {
        guard let (agent, content) = topics.outbound(message.topic) else { return nil }
        switch content {
        case .reply: type = "waypost.reply"
        case .log: type = "waypost.log"
        case .failure: type = "waypost.fail"
        case .state: type = "waypost.state"
        case .health: type = "waypost.health"
        case .routes: type = "waypost.routes"
        case .contract: type = "waypost.contract"
        case .navigation: type = "waypost.navigation"
        case .applied: type = "waypost.map.applied"
        }
        // The source names the sender: ids are unique for one sender only.
        source = if case .reply = content { message.topic } else { "\(topics.root)/\(agent)" }
        let payload = PayloadSummary(message.payload)
        switch (content, payload.id) {
        case (.reply, let id?): self.id = payload.isInterim ? "\(id).accepted" : id
        case (.failure, let id?): self.id = id
        default: id = Identifier.ulid(at: now)
        }
        time = Timestamp.rfc3339(payload.time ?? now)
    }

    /// The attributes as user properties.
    var properties: [MQTTProperties.User] {
        [
            .init("specversion", "1.0"), .init("type", type), .init("source", source), .init("id", id),
            .init("time", time),
        ]
    }
}

/// A few fields of a payload that the agent wrote itself, found without parsing all of it.
private struct PayloadSummary {
    private static let head = Array(#"{"id":""#.utf8)
    private static let interim = Array(#""status":"accepted""#.utf8)
    private static let times = [Array(#","at":"#.utf8), Array(#","last":"#.utf8)]

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Our replies and reports begin with their id.
    var id: String? {
        guard bytes.starts(with: Self.head) else { return nil }
        let id = bytes.dropFirst(Self.head.count).prefix(65).prefix { $0 != UInt8(ascii: "\"") }
        let text = String(decoding: id, as: UTF8.self)
        return Name.isValid(text) ? text : nil
    }

    /// Whether a reply is not the last one.
    var isInterim: Bool { number(after: Self.interim, from: bytes.startIndex, limit: 160) != nil }

    /// When it happened: a reply's `at`, a report's `last`.
    var time: Int64? {
        for key in Self.times {
            // Only at the end: text of the sender's stands before it.
            let tail = max(bytes.startIndex, bytes.endIndex - 1024)
            guard let place = number(after: key, from: tail, limit: 1024) else { continue }
            let digits = bytes[place...].prefix(14).prefix { (0x30...0x39).contains($0) }
            if let time = Int64(String(decoding: digits, as: UTF8.self)), time > 0 { return time }
        }
        return nil
    }

    /// The place behind the last occurrence of `text` in a part of the payload.
    private func number(after needle: [UInt8], from start: Int, limit: Int) -> Int? {
        let part = bytes[start...].prefix(limit)
        guard part.count >= needle.count else { return nil }
        for place in (part.startIndex...(part.endIndex - needle.count)).reversed()
        where part[place] == needle[0] && part[place...].starts(with: needle) {
            return place + needle.count
        }
        return nil
    }
}
