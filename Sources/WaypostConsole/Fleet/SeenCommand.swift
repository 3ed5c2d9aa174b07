import Waypost
import WaypostMessages

/// A command of which the console has seen something: it sent it, or a log, a reply or a failure names it.
struct SeenCommand: Sendable {
    var id: String
    var agent: String
    /// `open`, `call`, …; nil where only its id was seen.
    var type: String?
    /// The URL, or the method.
    var subject: String?
    /// When the console sent it, and under which name; nil where it only heard of it.
    var sent: Int64?
    var sender: String?
    var seen: Int64
    var ended: Int64?
    var code: Code?
    var detail: String?
    /// How far it is, as its handler says; for people.
    var progress: String?
    /// When it begins, where it waits for its time.
    var due: Int64?

    fileprivate mutating func shorten() {
        subject = subject?.cut(to: SeenText.url)
        detail = detail?.cut(to: SeenText.detail)
        code = code.map { Code(number: $0.number, name: $0.name.cut(to: SeenText.name)) }
    }

    var json: JSONValue {
        [
            "id": .string(id), "agent": .string(agent), "type": .init(type), "what": .init(subject),
            "from": .init(sender), "sent": .init(sent), "received": .null, "running": .null,
            "ended": .init(ended),
            "seen": .int(seen), "attempt": .null, "code": .init(code.map { Int64($0.number) }),
            "name": .init(code?.name), "detail": .init(detail),
            "progress": isOver ? .null : .init(progress), "due": .init(due),
            "state": .string(
                isOver ? "ended" : progress != nil ? "running" : due != nil ? "scheduled" : "unknown"),
        ]
    }

    private var isOver: Bool { code != nil || ended != nil }
}

/// The commands that were seen last.
struct SeenCommands: Sendable {
    static let capacity = 2_000

    private var byKey: [String: SeenCommand] = [:]
    /// The keys in the order in which they came.
    private var order: [String] = []

    private static func key(_ id: String, _ agent: String) -> String { "\(agent)/\(id)" }

    /// What was seen of a command; nothing is kept of what is no id.
    mutating func note(_ id: String, of agent: String, at now: Int64, _ change: (inout SeenCommand) -> Void) {
        guard Name.isValid(id) else { return }
        let key = Self.key(id, agent)
        if byKey[key] == nil {
            if order.count >= Self.capacity {
                for old in order.prefix(Self.capacity / 4) { byKey[old] = nil }
                order.removeFirst(Self.capacity / 4)
            }
            order.append(key)
            byKey[key] = SeenCommand(id: id, agent: agent, seen: now)
        }
        if var command = byKey[key] {
            change(&command)
            command.shorten()
            byKey[key] = command
        }
    }

    /// The newest first.
    func newest(_ limit: Int) -> [SeenCommand] { order.reversed().prefix(limit).compactMap { byKey[$0] } }

    func command(_ id: String, of agent: String) -> SeenCommand? { byKey[Self.key(id, agent)] }
}
