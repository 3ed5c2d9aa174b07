import Glibc
import MQTTLink
import WaypostMessages

/// The attributes of CloudEvents 1.0 that go with a message over MQTT 5, as user properties: its binary mode.
///
/// They repeat what the payload says; nothing depends on them.
struct CloudEvent {
    /// What all events on one topic have in common.
    struct Source {
        let topic: String
        fileprivate let content: OutboundTopic
        fileprivate let type: String
        fileprivate let name: String

        /// Nil where there are no events, such as on the topic of the agent's message to itself.
        init?(_ topic: String, _ topics: Topics) {
            guard let (agent, content) = topics.outbound(topic) else { return nil }
            self.topic = topic
            self.content = content
            type =
                switch content {
                case .reply: "waypost.reply"
                case .log: "waypost.log"
                case .failure: "waypost.fail"
                case .state: "waypost.state"
                case .health: "waypost.health"
                case .routes: "waypost.routes"
                case .contract: "waypost.contract"
                case .navigation: "waypost.navigation"
                case .applied: "waypost.map.applied"
                }
            // It names the sender: ids are unique for one sender only.
            name = if case .reply = content { topic } else { "\(topics.root)/\(agent)" }
        }
    }

    private let source: Source
    private let id: String
    private let time: String

    init(_ message: MQTTMessage, from source: Source, at now: Int64) {
        self.source = source
        let payload = message.payload
        var (id, time): (String?, Int64?)
        switch source.content {
        case .reply:
            id = payload.id.map { payload.isInterim(id: $0) ? "\($0).accepted" : $0 }
            // What is not our own text comes after it.
            time = payload.prefix(512).number(behind: #","at":"#)
        case .failure:
            id = payload.id
            time = payload.suffix(32).number(behind: #","last":"#)
        default: break
        }
        self.id = id ?? Identifier.ulid(at: now)
        self.time = Timestamp.rfc3339(time ?? now)
    }

    /// The attributes as user properties.
    var properties: [MQTTProperties.User] {
        [
            .init("specversion", "1.0"), .init("type", source.type), .init("source", source.name),
            .init("id", id), .init("time", time),
        ]
    }
}

// A few fields of a payload that the agent wrote itself, found without parsing all of it.
extension [UInt8] {
    private static let head: StaticString = #"{"id":""#
    private static let interim: StaticString = #"","type":"reply","status":"accepted""#

    /// Our replies and reports begin with their id.
    fileprivate var id: String? {
        guard has(Self.head, at: 0) else { return nil }
        let rest = self[Self.head.utf8CodeUnitCount...].prefix(Name.maximumBytes + 1)
        guard let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        let text = String(decoding: rest[..<end], as: UTF8.self)
        return Name.isValid(text) ? text : nil
    }

    /// Whether a reply is not the last one.
    fileprivate func isInterim(id: String) -> Bool {
        has(Self.interim, at: Self.head.utf8CodeUnitCount + id.utf8.count)
    }

    private func has(_ text: StaticString, at place: Int) -> Bool {
        withUnsafeBytes { bytes in
            guard let first = bytes.baseAddress, bytes.count - place >= text.utf8CodeUnitCount else {
                return false
            }
            return memcmp(first + place, text.utf8Start, text.utf8CodeUnitCount) == 0
        }
    }
}

extension ArraySlice<UInt8> {
    /// The number behind the first occurrence of `key`.
    fileprivate func number(behind key: StaticString) -> Int64? {
        withUnsafeBytes { bytes in
            let length = key.utf8CodeUnitCount
            var rest = bytes
            while let first = rest.baseAddress, rest.count > length,
                let found = memchr(first, Int32(key.utf8Start[0]), rest.count - length)
            {
                let behind = UnsafeRawPointer(found) - first + 1
                rest = UnsafeRawBufferPointer(rebasing: rest[behind...])
                guard memcmp(found, key.utf8Start, length) == 0 else { continue }
                // So few that it does not overflow.
                let digits = rest.dropFirst(length - 1).prefix(14).prefix { (0x30...0x39).contains($0) }
                let number = digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
                return number > 0 ? number : nil
            }
            return nil
        }
    }
}
