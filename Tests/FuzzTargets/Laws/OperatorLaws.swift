import ArgumentParser
import MQTTLink
import Threading
import Waypost
import WaypostBackend
import WaypostMessages
import WaypostTools

@testable import WaypostCLI
@testable import WaypostLab

/// What agents publish, through all that an operator's command makes of it.
///
/// The input is messages, apart by the byte 1E: which topic, how it is shown, and the payload. `$ID` and `$DIGEST` in
/// it stand for what the commands wait for.
enum OperatorLaws: Laws {
    private static let contents = [
        "state", "health", "map/applied", "log/i", "fail", "reply/me", "routes", "log/x", "reply/x",
        "contract", "navigation",
    ]
    private static let maximumMessages = 8
    private static let start = Operator()

    static func read(_ bytes: [UInt8]) {
        var console = start
        for message in messages(bytes, console) { _ = console?.lines(message.message, message.pick) }
        _ = console?.screens(bytes.count)
    }

    static func check(_ bytes: [UInt8]) throws(BrokenLaw) {
        guard var console = start else { throw BrokenLaw(law: "the commands can be made") }
        for (message, pick) in messages(bytes, console) { try check(console.lines(message, pick)) }
        try check(console.screens(bytes.count))
    }

    /// Without the screens, and without another look at the texts.
    static func checkQuickly(_ bytes: [UInt8]) throws(BrokenLaw) {
        guard var console = start else { throw BrokenLaw(law: "the commands can be made") }
        for (message, pick) in messages(bytes, console) { _ = console.lines(message, pick) }
    }

    private static func messages(
        _ bytes: [UInt8], _ console: Operator?
    ) -> [(message: MQTTMessage, pick: Int)] {
        bytes.split(separator: 0x1E).prefix(maximumMessages).compactMap { part in
            guard let kind = part.first, let pick = part.dropFirst().first else { return nil }
            var payload = Array(part.dropFirst(2))
            if payload.contains(UInt8(ascii: "$")), let console {
                payload = payload.replacing("$ID", with: console.replay.command.id)
                    .replacing("$DIGEST", with: console.relocation.digest)
            }
            let message = MQTTMessage(
                topic: "waypost/v1/k\(pick % 3)/\(contents[Int(kind) % contents.count])", payload: payload,
                retain: pick >= 0x80)
            return (message, Int(pick))
        }
    }

    private static func check(_ shown: Shown) throws(BrokenLaw) {
        for text in shown.texts {
            try BrokenLaw.unless(
                !text.text.unicodeScalars.contains(where: \.isUnsafeForTerminal), "no terminal obeys a text")
        }
        for line in shown.json {
            let escaped = TerminalJSON.escaped(line)
            try BrokenLaw.unless(
                !String(decoding: escaped, as: UTF8.self).unicodeScalars.contains(
                    where: \.isUnsafeForTerminal),
                "no terminal obeys JSON")
            try BrokenLaw.unless(
                (try? JSONValue(parsing: escaped, limits: .trustedFile))
                    == (try? JSONValue(parsing: line, limits: .trustedFile)),
                "escaped JSON has the same meaning")
        }
    }

    /// What commands print, for people and as JSON.
    private struct Shown {
        var texts: [TerminalText] = []
        var json: [[UInt8]] = []
    }

    /// All that operators' commands keep of what they have read.
    private struct Operator {
        let topics = Topics.standard
        let style = Style(isOn: false)
        let relocation = Relocation(document: Array("{}".utf8), .patch)
        var roster = Roster(topics: .standard)
        var watch: WatchModel
        var gaps = GapDetector()
        var deduplicator = EventDeduplicator()
        var replay = ReplayCollector(
            sender: "me", topics: .standard, past: LogRequest.Past(start: .ago(.seconds(600))))
        var diagnosis = NoReplyDiagnosis(.agent("k1"), topics: .standard)
        var tally = BenchTally()
        var contract = ContractDocuments(of: "k1", topics: .standard)
        private let query: LogQuery

        init?() {
            guard
                let query = try? LogQuery(
                    "-tag:none url:x -url~:y[0-9] -message~:'took [0-9]' code:4 age:1h level:V is:failure")
            else { return nil }
            self.query = query
            watch = WatchModel(topics: .standard, filter: LogFilter())
            watch.asked(replay.command.id)
            for _ in 0..<5 { _ = tally.sends(due: .now) }
        }

        /// What is printed for a message.
        mutating func lines(_ message: MQTTMessage, _ pick: Int) -> Shown {
            var shown = Shown()
            roster.saw(message)
            watch.saw(message)
            diagnosis.saw(message)
            _ = replay.saw(message)
            contract.saw(message)
            shown.texts.append(TerminalText(diagnosis.explanation(after: "1 s").shell))
            let agent = topics.outbound(message.topic)?.agent ?? "k1"
            var events = AgentEvent.events(message.payload, from: agent)
            if let failure = AgentEvent.failure(message.payload, from: agent) { events.append(failure) }
            for line in events {
                _ = deduplicator.note(line.event, from: agent)
                _ = query.holds(for: line, now: 0)
                if let missing = gaps.saw(line.event, from: agent) {
                    shown.texts.append(TerminalText(missing))
                }
                shown.texts.append(
                    line.text(pick % 2 == 0 ? .threadtime : .brief, style, agentWidth: pick % 3 * 4))
                shown.json.append(line.source)
            }
            if pick % 5 == 0 { gaps.missed(of: "k1") }
            if let value = message.json {
                shown.texts += Health(value).lines(of: agent, "", style) + NavigationText.lines(value)
                if let reply = try? Reply(value) { add(reply, message.payload, agent, pick, to: &shown) }
            }
            let matcher = RelocationAnswerMatcher(relocation, for: .agent("k1"), topics: topics)
            if let result = matcher.answer(in: message) {
                shown.texts += MapText(style: style).lines(result)
                shown.json.append(result.line)
            }
            if pick % 11 == 0 {
                let version = BrokerVersion(String(decoding: message.payload, as: UTF8.self))
                shown.texts += DoctorReport([version.finding()]).lines(style)
            }
            return shown
        }

        private static let log = try? LogCommand.parse(["V"])

        private mutating func add(
            _ reply: Reply, _ payload: [UInt8], _ agent: String, _ pick: Int, to shown: inout Shown
        ) {
            let answer = CommandReply(agent: agent, reply: reply, bytes: payload, roundTrip: 5)
            shown.texts += ReplyText(style: style).lines(answer) + PingCommand().lines(answer, style)
            shown.texts += Self.log?.lines(answer, style) ?? []
            let clock = BrokerCheck.clock(of: reply, from: agent, asked: WallClock.now(), trip: 7)
            shown.texts += DoctorReport([clock]).lines(style)
            shown.json.append(answer.jsonLine())
            tally.replied(pick % 7, reply, at: .now)
        }

        private func add(_ contract: RouterContract, to shown: inout Shown) {
            let text = ContractText(style: style)
            shown.texts += text.lines(contract)
            for route in contract.routes { shown.texts += text.lines(route) }
            for service in contract.services { shown.texts += text.lines(service) }
            shown.json.append(contract.json.serialized())
            guard let check = try? AgentContract(contract) else { return }
            let operations: [Command.Operation] = [
                .open(url: contract.routes.first?.path ?? "a://b", parameters: ["x": "1"]),
                .call(
                    service: contract.services.first?.name ?? "S", method: "m", arguments: .positional([1])),
            ]
            for report in operations.map(check.report) {
                shown.texts += report.warnings.map { TerminalText($0) }
                if let fault = report.fault { shown.texts.append(TerminalText(fault.detail)) }
            }
        }

        /// What is drawn of all messages together.
        func screens(_ pick: Int) -> Shown {
            var shown = Shown()
            let now = [WallClock.now(), 0, .max, .min][pick % 4]
            shown.texts += AgentTable(roster.summaries(now: now), now: now).lines(style)
            shown.texts += WatchScreen(rows: 24, columns: 80, style: style).lines(watch)
            shown.json += roster.json.map { $0.serialized() }
            shown.texts += BenchReport(tally: tally, agent: "k1", isWhole: true).lines(style)
            _ = replay.isComplete
            if let contract = contract.contract { add(contract, to: &shown) }
            shown.texts += replay.wanted.map { $0.text(.threadtime, style, agentWidth: nil) }
            shown.texts += replay.gaps.map { TerminalText($0) }
            return shown
        }
    }
}

extension [UInt8] {
    /// With every `mark`, which begins with a byte that stands nowhere else in it, replaced.
    func replacing(_ mark: String, with text: String) -> [UInt8] {
        let mark = Array(mark.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < count {
            if self[index] == mark[0], self[index...].starts(with: mark) {
                result += text.utf8
                index += mark.count
            } else {
                result.append(self[index])
                index += 1
            }
        }
        return result
    }
}
