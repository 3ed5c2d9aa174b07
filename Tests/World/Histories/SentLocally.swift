import Waypost

/// Commands that programs of the agent's own machine sent past the broker, and what they were answered.
struct SentLocally: Codable {
    struct Sent: Codable {
        let payload: String
        /// What its handler came to, without what may differ when it is asked for again.
        fileprivate var result: String?
        /// Whether it has come to its end in any way, so that nobody asks again.
        fileprivate var hasEnded = false
    }

    private(set) var commands: [String: Sent] = [:]

    /// - Parameter id: Nil for one that nobody recognises, which is not asked for again.
    mutating func sends(_ id: String, _ payload: String) { commands[id] = Sent(payload: payload) }

    /// All of them, in order.
    var known: [(id: String, payload: String)] {
        commands.sorted { ($0.key.count, $0.key) < ($1.key.count, $1.key) }.map { ($0.key, $0.value.payload) }
    }

    /// Those that have to be asked for again, in order.
    var open: [(id: String, payload: String)] { known.filter { commands[$0.id]?.hasEnded != true } }

    /// Law 3: under its id it has one result, whoever asks and how often.
    mutating func answered(_ id: String, _ reply: JSONValue) throws(People.Breach) {
        guard let sent = commands[id], let status = reply["status"]?.stringValue else { return }
        if status == "ok" || status == "failed", var members = reply.objectValue {
            members["dup"] = nil
            let result = String(decoding: JSONValue.object(members).serialized(), as: UTF8.self)
            if let known = sent.result, known != result {
                throw People.Breach(law: 3, text: "two results came for \(id): \(known) and \(result)")
            }
            commands[id]?.result = result
        } else if sent.result != nil, status == "interrupted" || status == "expired" {
            throw People.Breach(law: 3, text: "\(id) had a result, and is \(status): \(reply)")
        }
        // What was not taken, or not begun, may be asked for again.
        let isOver = ["ok", "failed", "interrupted"].contains(status)
        if isOver, reply["detail"]?.stringValue?.contains("before the command could run") != true {
            commands[id]?.hasEnded = true
        }
    }
}
