import Glibc
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
        let payload = message.payload
        var (id, time): (String?, Int64?)
        switch content {
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
            .init("specversion", "1.0"), .init("type", type), .init("source", source), .init("id", id),
            .init("time", time),
        ]
    }
}

// A few fields of a payload that the agent wrote itself, found without parsing all of it.
extension [UInt8] {
    private static let head = Array(#"{"id":""#.utf8)
    private static let interim = Array(#"","type":"reply","status":"accepted""#.utf8)

    /// Our replies and reports begin with their id.
    fileprivate var id: String? {
        guard starts(with: Self.head) else { return nil }
        let id = self[Self.head.count...].prefix(Name.maximumBytes + 1).prefix { $0 != UInt8(ascii: "\"") }
        let text = String(decoding: id, as: UTF8.self)
        return Name.isValid(text) ? text : nil
    }

    /// Whether a reply is not the last one.
    fileprivate func isInterim(id: String) -> Bool {
        dropFirst(Self.head.count + id.utf8.count).starts(with: Self.interim)
    }
}

extension ArraySlice<UInt8> {
    /// The number behind the first occurrence of `key`.
    fileprivate func number(behind key: StaticString) -> Int64? {
        withUnsafeBytes { bytes in
            key.withUTF8Buffer { key in
                var place = 0
                while place + key.count < bytes.count {
                    if bytes[place] == key[0], bytes[place...].starts(with: key) {
                        let rest = bytes[(place + key.count)...]
                        // So few that it does not overflow.
                        let digits = rest.prefix(14).prefix { (0x30...0x39).contains($0) }
                        let number = digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
                        return number > 0 ? number : nil
                    }
                    place += 1
                }
                return nil
            }
        }
    }
}
