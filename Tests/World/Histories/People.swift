import Waypost

/// What people know of an agent: what they sent it, what ran, and what it said.
///
/// All of it outlives the agent's crashes. What must be true of that are the laws, each with its number in `Guarantees.md`.
struct People: Codable {
    /// A law that was broken.
    struct Breach: Error, CustomStringConvertible {
        let law: Int
        let text: String

        var description: String { "law \(law): \(text)" }
    }

    struct Sent: Codable {
        let number: Int
        let payload: String
        /// Whether the broker has it, so that nobody sends it again.
        var isAtBroker = false
        /// The terminal reply, without what may differ when it comes again.
        var result: String?
    }

    private(set) var commands: [String: Sent] = [:]
    /// How often what must not be repeated began, by the number of its command.
    private var runs: [Int: Int] = [:]
    /// The highest epoch that was seen, and whose it was.
    private var epoch: Int64 = 0
    private var boot = ""
    private(set) var isOnline = false

    /// What was sent, in order, and is not at the broker.
    var unsent: [(id: String, payload: String)] {
        commands.filter { !$0.value.isAtBroker }.sorted { $0.value.number < $1.value.number }
            .map { ($0.key, $0.value.payload) }
    }

    /// Those without a result, in order.
    var open: [String] {
        commands.filter { $0.value.result == nil }.sorted { $0.value.number < $1.value.number }.map(\.key)
    }

    mutating func sends(_ id: String, _ command: Sent) { commands[id] = command }
    mutating func brokerHas(_ id: String) { commands[id]?.isAtBroker = true }

    /// Law 2.
    mutating func runs(_ number: Int) throws(Breach) {
        runs[number, default: 0] += 1
        guard runs[number] == 1 else {
            throw Breach(law: 2, text: "what must not be repeated began again for c\(number)")
        }
    }

    /// A message of the agent's.
    mutating func heard(_ message: BrokerModel.Message) throws {
        let json = try JSONValue(parsing: message.payload)
        if message.topic.hasSuffix("/state") { return try heard(state: json) }
        guard let id = json["id"]?.stringValue, let status = json["status"]?.stringValue,
            status != "accepted"
        else { return }
        try ended(id, json)
    }

    /// Law 3.
    private mutating func ended(_ id: String, _ reply: JSONValue) throws(Breach) {
        if let name = reply["name"]?.stringValue, ["BUSY", "OUTBOX", "DISK"].contains(name) {
            // It was not accepted, and is sent again.
            if commands[id]?.result == nil { commands[id]?.isAtBroker = false }
            return
        }
        guard var members = reply.objectValue, let command = commands[id] else {
            throw Breach(law: 3, text: "a result came for \(id), which nobody sent")
        }
        members["dup"] = nil
        let result = String(decoding: JSONValue.object(members).serialized(), as: UTF8.self)
        if let known = command.result, known != result {
            throw Breach(law: 3, text: "two results came for \(id): \(known) and \(result)")
        }
        commands[id]?.result = result
    }

    /// Law 6.
    private mutating func heard(state: JSONValue) throws(Breach) {
        guard let new = state["epoch"]?.intValue, let boot = state["boot"]?.stringValue else {
            throw Breach(law: 6, text: "a state without an epoch: \(state)")
        }
        if boot != self.boot {
            // A late will of an earlier start is below the births of this one.
            if new <= epoch, state["state"]?.stringValue == "offline" { return }
            guard new > epoch else {
                throw Breach(law: 6, text: "a new start has the epoch \(new), and \(epoch) was seen")
            }
            self.boot = boot
        }
        guard new >= epoch else { return }
        epoch = new
        isOnline = state["state"]?.stringValue == "online"
    }
}
