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
        /// What the answer tells of the maps in force, of which layer, and which was in force there when it was sent.
        var asks: Question?
        /// Whether the broker has it, so that nobody sends it again.
        var isAtBroker = false
        /// How often its sender, or a broker that delivers twice, sent it.
        var copies = 0
        /// Whether another command was sent under its id.
        var isReused = false
        /// The terminal reply, without what may differ when it comes again.
        var result: String?
    }

    struct Question: Codable {
        let probe: SentMaps.Probe
        let layer: Int
        let since: Int64
    }

    private(set) var commands: [String: Sent] = [:]
    /// Commands that must be refused, by their id.
    private var forged: Set<String> = []
    var layers = [SentMaps(layer: "agent"), SentMaps(layer: "@fleet")]
    /// How often what must not be repeated began, by the number of its command.
    private var runs: [Int: Int] = [:]
    /// How often what may be repeated ended the machine, by the number of its command.
    private var ends: [Int: Int] = [:]
    /// The highest epoch that was seen, and whose it was.
    private var epoch: Int64 = 0
    private var boot = ""
    private(set) var isOnline = false
    /// The last delivery that was taken: what was before it comes again after a crash of ours.
    private var lastTaken: UInt64 = 0
    /// How often what went wrong hit the agent in which state.
    private(set) var met: [String: Int] = [:]

    /// What was sent, in order, and is not at the broker.
    var unsent: [(id: String, payload: String)] {
        commands.filter { !$0.value.isAtBroker }.sorted { $0.value.number < $1.value.number }
            .map { ($0.key, $0.value.payload) }
    }

    /// Those without a result, in order.
    var open: [String] {
        commands.filter { $0.value.result == nil }.sorted { $0.value.number < $1.value.number }.map(\.key)
    }

    /// The layers whose newest map is not in force.
    var waiting: [SentMaps] { layers.filter { $0.inForce < $0.newest } }

    /// Whether all that people want has been done.
    var isAtRest: Bool { open.isEmpty && waiting.isEmpty }

    /// The number of the next command.
    var next: Int { commands.count + forged.count }

    mutating func sends(_ id: String, _ command: Sent) { commands[id] = command }
    mutating func reuses(_ id: String) { commands[id]?.isReused = true }
    mutating func forges(_ id: String) { forged.insert(id) }
    mutating func isSent(_ id: String, copies: Int) { commands[id]?.copies += copies }
    mutating func brokerHas(_ id: String) { commands[id]?.isAtBroker = true }

    /// The broker has forgotten what waits: what has no answer is sent again.
    mutating func brokerForgot() {
        for (id, command) in commands where command.result == nil { commands[id]?.isAtBroker = false }
    }

    /// Something goes wrong now.
    mutating func meets(_ part: HistoryPart) {
        let state = !isOnline ? "starting" : !waiting.isEmpty ? "mapping" : open.isEmpty ? "idle" : "busy"
        met["\(part) × \(state)", default: 0] += 1
    }

    /// Laws 2 and 10.
    mutating func runs(_ number: Int) throws(Breach) {
        guard !forged.contains("c\(number)") else {
            throw Breach(law: 10, text: "c\(number) runs, which nobody may send who sent it")
        }
        runs[number, default: 0] += 1
        guard runs[number] == 1 else {
            throw Breach(law: 2, text: "what must not be repeated began again for c\(number)")
        }
    }

    /// Law 2: what ends the agent is not tried for ever.
    ///
    /// Of each copy that its sender sent one start may not be counted: a broker marks only what it sends again itself, and
    /// what begins behind a command whose result is not on disk leaves no trace.
    mutating func ends(_ number: Int) throws(Breach) {
        ends[number, default: 0] += 1
        let (count, copies) = (ends[number, default: 0], commands["c\(number)"]?.copies ?? 0)
        guard count <= 3 + copies else {
            throw Breach(law: 2, text: "c\(number), of which \(copies) were sent, begins \(count) times")
        }
    }

    /// A message of the agent's.
    mutating func heard(_ delivery: BrokerModel.Delivery) throws {
        if delivery.id > 0 {
            guard delivery.id > lastTaken else { return }
            lastTaken = delivery.id
        }
        let message = delivery.message
        let json = try JSONValue(parsing: message.payload)
        if message.topic.hasSuffix("/state") { return try heard(state: json) }
        if message.topic.hasSuffix("/applied") { return try heard(applied: json) }
        guard let id = json["id"]?.stringValue, let status = json["status"]?.stringValue,
            status != "accepted"
        else { return }
        try ended(id, status, json)
    }

    /// Laws 3, 5 and 10.
    private mutating func ended(_ id: String, _ status: String, _ reply: JSONValue) throws(Breach) {
        if forged.contains(id) {
            guard status == "rejected" else { throw Breach(law: 10, text: "\(id) ends with \(reply)") }
            return
        }
        if reply["name"] == "ID_REUSED" {
            guard commands[id]?.isReused == true else {
                throw Breach(law: 2, text: "\(id) is refused as another one, which nobody sent")
            }
            return
        }
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
        if command.result == nil, let question = command.asks { try answered(id, question, status, reply) }
        commands[id]?.result = result
    }

    private func answered(
        _ id: String, _ question: Question, _ status: String, _ reply: JSONValue
    ) throws(Breach) {
        guard let answer = Self.answer(question.probe, status, reply) else { return }
        let allowed = layers[question.layer].answers(question.probe, since: question.since)
        guard allowed.contains(answer) else {
            throw Breach(
                law: 5,
                text: "\(id) was answered \(answer) where \(allowed.sorted()) are right: \(reply)")
        }
    }

    /// What a reply says of the maps in force; nil when it ended for another reason.
    private static func answer(_ probe: SentMaps.Probe, _ status: String, _ reply: JSONValue) -> String? {
        let result = probe == .call ? reply["result"] : reply["result"]?["value"]
        if status == "ok" { return (result ?? .null).description }
        let detail = reply["detail"]?.stringValue ?? ""
        if let range = detail.firstRange(of: "closed by ") {
            return "closed by \(detail[range.upperBound...].prefix { $0.isNumber })"
        }
        guard let code = reply["code"]?.intValue else { return nil }
        return code >= 1_000 || code == 404 ? "code \(code)" : nil
    }

    private mutating func heard(applied json: JSONValue) throws(Breach) {
        var revisions: [String: Int64] = [:]
        for layer in json["layers"]?.arrayValue ?? [] {
            if let name = layer["layer"]?.stringValue { revisions[name] = layer["rev"]?.intValue }
        }
        for index in layers.indices { try layers[index].heard(revisions[layers[index].layer] ?? 0) }
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
