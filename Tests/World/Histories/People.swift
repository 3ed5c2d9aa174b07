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
        /// When it may begin, for one that waits for its time.
        var times: SentTimes?
        /// The command that it cancels.
        var cancels: String?
        /// The group that it was sent to: who is not in it by then does not get it, and it is sent once.
        var group: Group?
        /// Whether its agent said that it was canceled before it began.
        var isCanceled = false
        /// The terminal reply, without what may differ when it comes again.
        var result: String?
    }

    struct Question: Codable {
        let probe: SentMaps.Probe
        let layer: Int
        let since: Int64
    }

    /// Where a command of a group went, and which document of groups the agent had in force.
    struct Group: Codable {
        let name: String
        let since: Int64
    }

    private(set) var commands: [String: Sent] = [:]
    /// Commands that must be refused, by their id.
    private var forged: Set<String> = []
    var layers = [SentMaps(layer: "agent"), SentMaps(layer: "@fleet")]
    var groups: SentGroups
    var locally = SentLocally()
    var certificates = SentCertificates()
    /// How many commands of the agent's machine there were.
    private var localCount = 0
    /// How often what must not be repeated began, by the number of its command.
    private var runs: [Int: Int] = [:]
    /// How often what may be repeated ended the machine, by the number of its command.
    private var ends: [Int: Int] = [:]
    /// The highest epoch that was seen, and whose it was.
    private var epoch: Int64 = 0
    private(set) var boot = ""
    private(set) var isOnline = false
    /// The last delivery that was taken: what was before it comes again after a crash of ours.
    private var lastTaken: UInt64 = 0
    /// How often what went wrong hit the agent in which state.
    private(set) var met: [String: Int] = [:]
    /// Whether the broker has refused something: perhaps an answer that is not stored.
    private(set) var wasRefused = false
    /// The reports that were on disk at the last start and have not come, in order.
    private(set) var reports: [String] = []
    private var heardReports: Set<String> = []

    init(_ groups: SentGroups = SentGroups()) { self.groups = groups }

    /// What was sent, in order, and is not at the broker.
    var unsent: [(id: String, payload: String)] {
        commands.filter { !$0.value.isAtBroker && $0.value.group == nil }
            .sorted { $0.value.number < $1.value.number }.map { ($0.key, $0.value.payload) }
    }

    /// Those without a result, in order.
    var open: [String] {
        commands.filter { $0.value.result == nil && $0.value.group == nil }
            .sorted { $0.value.number < $1.value.number }.map(\.key)
    }

    /// Those of them that wait for their time, in order.
    var scheduled: [String] { open.filter { commands[$0]?.times != nil } }

    /// The layers whose newest map is not in force.
    var waiting: [SentMaps] { layers.filter { $0.inForce < $0.newest } }

    /// Whether all that people want has been done.
    var isAtRest: Bool {
        open.isEmpty && waiting.isEmpty && groups.waiting == nil && locally.open.isEmpty && reports.isEmpty
    }

    /// The number of the next command.
    var next: Int { commands.count + forged.count + localCount }

    mutating func sends(_ id: String, _ command: Sent) { commands[id] = command }
    mutating func reuses(_ id: String) { commands[id]?.isReused = true }
    mutating func forges(_ id: String) { forged.insert(id) }

    /// A program of the agent's machine sends one; nil of the id for one that nobody recognises.
    mutating func sendsLocally(_ id: String?, _ payload: String) {
        localCount += 1
        if let id { locally.sends(id, payload) }
    }

    mutating func isSent(_ id: String, copies: Int) { commands[id]?.copies += copies }
    mutating func brokerHas(_ id: String) { commands[id]?.isAtBroker = true }

    /// The broker has forgotten what waits: what has no answer is sent again.
    mutating func brokerForgot() {
        for (id, command) in commands where command.result == nil { commands[id]?.isAtBroker = false }
    }

    /// Something goes wrong now.
    mutating func meets(_ part: HistoryPart) {
        let state =
            !isOnline
            ? "starting"
            : certificates.isTrying
                ? "renewing"
                : !waiting.isEmpty
                    ? "mapping"
                    : groups.waiting != nil
                        ? "grouping" : !scheduled.isEmpty ? "scheduled" : open.isEmpty ? "idle" : "busy"
        met["\(part) × \(state)", default: 0] += 1
        if part == .refusal { wasRefused = true }
        guard part == .sync || part == .full else { return }
        for id in scheduled { commands[id]?.times?.diskFails() }
    }

    /// Somebody sets the clock: it is off by so much from now on.
    mutating func clockIsSet(at time: SeededScheduler.Clock, to error: Int64) {
        for id in scheduled { commands[id]?.times?.clockIsSet(at: time.wall, to: error) }
    }

    /// Whatever it may do again or not, it begins when it may: laws 2, 3 and 5.
    func begins(_ number: Int, at time: SeededScheduler.Clock) throws(Breach) {
        let id = "c\(number)"
        guard let command = commands[id] else { return }
        guard !command.isCanceled, command.result == nil else {
            throw Breach(law: 3, text: "\(id) begins after its end: \(command.result ?? "it was canceled")")
        }
        if let fault = command.times?.fault(at: time.wall, time.error) {
            throw Breach(law: 2, text: "\(id) \(fault)")
        }
        if let group = command.group, !groups.mayReach(group.name, since: group.since) {
            throw Breach(law: 5, text: "\(id) of the group \(group.name) begins where nobody is in it")
        }
    }

    /// Laws 2 and 10.
    mutating func runs(_ number: Int, at time: SeededScheduler.Clock) throws(Breach) {
        guard !forged.contains("c\(number)") else {
            throw Breach(law: 10, text: "c\(number) runs, which nobody may send who sent it")
        }
        try begins(number, at: time)
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
    mutating func heard(_ delivery: BrokerModel.Delivery, at time: SeededScheduler.Clock) throws {
        if delivery.id > 0 {
            guard delivery.id > lastTaken else { return }
            lastTaken = delivery.id
        }
        let message = delivery.message
        let json = try JSONValue(parsing: message.payload)
        if message.topic.hasSuffix("/fail") { return try heard(report: json) }
        if message.topic.hasSuffix("/state") { return try heard(state: json) }
        if message.topic.hasSuffix("/applied") { return try heard(applied: json) }
        if message.topic.hasSuffix("/health") {
            try groups.heard(json)
            return try certificates.heard(json)
        }
        guard let id = json["id"]?.stringValue, let status = json["status"]?.stringValue else { return }
        guard status != "accepted" else { return try accepted(id, json) }
        try ended(id, status, json, at: time)
    }

    /// The agent starts with these reports on its disk, which wait for the broker.
    mutating func starts(with found: [String]) {
        reports += found.filter { !reports.contains($0) && !heardReports.contains($0) }
    }

    /// Law 4: what waited on disk comes, and in that order.
    private mutating func heard(report: JSONValue) throws(Breach) {
        guard let id = report["id"]?.stringValue else { return }
        heardReports.insert(id)
        guard let place = reports.firstIndex(of: id) else { return }
        guard place == 0 || wasRefused else {
            throw Breach(law: 4, text: "the report \(id) comes before \(reports[0]), which waited before it")
        }
        reports.remove(at: place)
    }

    /// It is said when it begins.
    private func accepted(_ id: String, _ reply: JSONValue) throws(Breach) {
        guard let due = reply["due"]?.intValue, let times = commands[id]?.times else { return }
        guard due >= times.after, due < times.expires else {
            throw Breach(law: 2, text: "\(id) is said to begin at \(due): \(times)")
        }
    }

    /// Laws 3, 5 and 10.
    private mutating func ended(
        _ id: String, _ status: String, _ reply: JSONValue, at time: SeededScheduler.Clock
    ) throws(Breach) {
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
        if command.result == nil {
            if let question = command.asks { try answered(id, question, command.number, status, reply) }
            try checkEnd(id, status, reply, at: time)
        }
        commands[id]?.result = result
    }

    /// What an end says of what ran: law 3.
    private mutating func checkEnd(
        _ id: String, _ status: String, _ reply: JSONValue, at time: SeededScheduler.Clock
    ) throws(Breach) {
        guard let command = commands[id] else { return }
        let isUnbegun = status == "expired" || reply["detail"] == "canceled while it waited"
        guard !isUnbegun || runs[command.number] == nil else {
            throw Breach(law: 3, text: "\(id) has run, and ends with \(reply)")
        }
        guard !command.isCanceled || status == "canceled" else {
            throw Breach(law: 3, text: "\(id) was canceled, and ends with \(reply)")
        }
        // Those without a time to wait for have longer than any history lasts.
        if status == "expired", command.times?.mayHaveExpired(at: time.wall, time.error) != true {
            throw Breach(law: 3, text: "\(id) ends as expired, before its time is over: \(reply)")
        }
        if let target = command.cancels, status == "ok", reply["result"]?["was"] == "waiting" {
            let end = commands[target]?.result
            guard end.map({ $0.contains(#""canceled""#) }) ?? true else {
                throw Breach(law: 3, text: "\(id) has canceled \(target), which ended with \(end ?? "")")
            }
            commands[target]?.isCanceled = true
        }
    }

    private func answered(
        _ id: String, _ question: Question, _ number: Int, _ status: String, _ reply: JSONValue
    ) throws(Breach) {
        try check(question, number, "\(id): \(reply)", Self.answer(question.probe, status, reply))
    }

    /// Law 5: something answers as a map says that may be in force.
    func check(_ question: Question, _ number: Int, _ what: String, _ answer: String?) throws(Breach) {
        guard let answer else { return }
        let allowed = layers[question.layer].answers(question.probe, number, since: question.since)
        guard allowed.contains(answer) else {
            throw Breach(
                law: 5,
                text: "answered \(answer) where \(allowed.sorted()) are right: \(what)")
        }
    }

    /// What a reply says of the maps in force; nil when it ended for another reason.
    private static func answer(_ probe: SentMaps.Probe, _ status: String, _ reply: JSONValue) -> String? {
        let result = probe == .call ? reply["result"] : reply["result"]?["value"]
        if status == "ok" { return (result ?? .null).description }
        return refusal(
            reply["code"]?.intValue ?? 0, reply["name"]?.stringValue ?? "", reply["detail"]?.stringValue ?? ""
        )
    }

    /// What a refusal says of the maps in force; nil for one that has another reason.
    static func refusal(_ code: Int64, _ name: String, _ detail: String) -> String? {
        if let range = detail.firstRange(of: "closed by ") {
            return "closed by \(detail[range.upperBound...].prefix { $0.isNumber })"
        }
        if let range = detail.firstRange(of: "switched off by "), code == 503 {
            return "\(name) by \(detail[range.upperBound...].prefix { $0.isNumber })"
        }
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
