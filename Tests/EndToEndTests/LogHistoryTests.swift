import CommandSupport
import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI

/// All that agents still have is there, and what is missing is said.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct LogHistoryTests {
    /// Each is two events at least.
    private static let opens = 300

    /// An agent with more events than fit in a page: a failure first, and then many lines.
    private func site() async throws -> Site<RunningAgent> {
        let site = try await Site.open([
            "--demo", "--log-level", "v", "--log-ring", "10000", "--log-rate", "0", "--intake-rate", "0",
        ])
        _ = try await site.run("open", "scheme://router/the-old-failure", "--agent", "k1", "--no-check")
        let backend = try await Backend(broker: site.broker.url)
        for number in 1...Self.opens {
            try await backend.publish(
                #"{"id":"h\#(number)","type":"open","url":"scheme://router/user/\#(number)"}"#,
                to: "waypost/v1/k1/cmd/me")
        }
        // They are of one lane.
        _ = try await backend.reply(to: "h\(Self.opens)", of: "k1")
        await backend.disconnect()
        return site
    }

    @Test func `what is far back is found, by level, query, expression and number`() async throws {
        let site = try await site()
        func run(_ arguments: [String]) async throws -> [String] {
            let ending = try await RunningCommand.run(
                arguments + ["--agent", "k1"], environment: ["WAYPOST_BROKER": site.broker.url])
            #expect(ending.status == 0, "\(arguments): \(ending.errorLines)")
            #expect(!ending.errorLines.contains { $0.contains("older version") }, "\(ending.errorLines)")
            return ending.output
        }
        func numbers(_ lines: [String]) throws -> [Int64] {
            try lines.map { try JSONValue(parsing: $0)["seq"]?.intValue ?? -1 }
        }
        let all = try await numbers(run(["logcat", "-d", "--json"]))
        #expect(all.count > 500 && all == Array(1...Int64(all.count)), "\(all.count)")
        for filter in [
            ["--level", "E"], ["-e", "the-old-[f]ailure"], ["--query", "level:E message:the-old-failure"],
            ["--query", "message~:'the-old-.ailure' -tag:x"], ["*:E"], ["--since", "1h", "Router:E", "*:S"],
        ] {
            let lines = try await run(["logcat", "-d", "-v", "brief"] + filter)
            #expect(
                lines.contains { $0.hasPrefix("E/Router") && $0.contains("the-old-failure") }, "\(filter)")
            let replayed = try await run(["replay", "-v", "brief"] + filter)
            #expect(replayed == lines, "\(filter)")
        }
        let newest = try await numbers(run(["logcat", "-t", "240", "--json"]))
        let last = try #require(newest.last)
        #expect(last >= all.count && newest == Array(last - 239...last))
        let opened = try await run(["logcat", "-t", "130", "-v", "brief", "-e", "^opened"])
        #expect(opened.count == 130 && opened.last?.contains("user/\(Self.opens)") == true)
        #expect(try await run(["logcat", "-t", "1", "-v", "brief", "--level", "E"]).count == 1)
        #expect(try await numbers(run(["replay", "--json"])).starts(with: all))
        let later = try await run(["replay", "--json", "--since", "2099-01-01 00:00"])
        #expect(later.isEmpty)
        #expect(try await site.agent.terminate() == 0)
    }

    @Test func `of an agent of an older version the rest is said to be missing`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let command = try RunningCommand(
            ["replay", "--agent", "k9", "--level", "E", "--wait", "10m", "-v", "brief"],
            environment: ["WAYPOST_BROKER": broker.url])
        let topic = "waypost/v1/k9/cmd/"
        try await backend.wait(for: "the command") { $0.contains { $0.topic.hasPrefix(topic) } }
        let asked = try #require(backend.seen.first { $0.topic.hasPrefix(topic) })
        let id = try #require(asked.json?["id"]?.stringValue)
        var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
        for number in 501...1_000 {
            let level = number == 777 ? "E" : "I"
            try await backend.publish(
                #"{"t":\#(now),"l":"\#(level)","tag":"T","boot":"B","seq":\#(number),"msg":"line \#(number)"}"#,
                to: "waypost/v1/k9/log/\(level.lowercased())")
        }
        let sender = try #require(asked.topic.split(separator: "/").last)
        try await backend.publish(
            #"{"id":"\#(id)","status":"ok","code":0,"name":"OK","result":{"replayed":500,"last":1000},"at":\#(now)}"#,
            to: "waypost/v1/k9/reply/\(sender)")
        let ending = try await command.ending()
        #expect(ending.status == 0)
        #expect(ending.output == ["E/T       (    -): line 777"])
        #expect(
            ending.errorLines == [
                "--- k9 runs an older version and sends only its newest 500 events; its events before seq 501 "
                    + "are not looked at"
            ])
        await backend.disconnect()
    }

    // MARK: Without a broker

    private static func line(_ agent: String, _ boot: String, _ number: Int64, time: Int64 = 0) -> AgentEvent
    {
        let event = LogEvent(
            time: time, level: .info, tag: "T", boot: boot, sequence: number, process: 0, thread: 0,
            message: "\(agent)\(boot)\(number)")
        return AgentEvent(agent: agent, event: event, source: event.encoded())
    }

    @Test func `two starts of an agent are never mixed, whatever the clock says`() {
        var window = ReorderWindow()
        let lines = [
            Self.line("a", "X", 812, time: 9), Self.line("a", "Y", 1, time: 3),
            Self.line("a", "X", 811, time: 8), Self.line("a", "Y", 3, time: 5),
            Self.line("a", "X", 813, time: 10), Self.line("a", "Y", 2, time: 4),
        ]
        for line in lines { window.add(line) }
        let wanted = ["aX811", "aX812", "aX813", "aY1", "aY2", "aY3"]
        #expect(window.take().map(\.event.message) == wanted)
        #expect(LogOrder.merged([LogOrder.ofOneAgent(lines)]).map(\.event.message) == wanted)
    }

    @Test func `events of one agent are in the order of their numbers, those of several by the clock`() {
        var replay = ReplayCollector(sender: "me", topics: .standard)
        func add(_ agent: String, _ number: Int64, time: Int64) {
            let payload = Self.line(agent, "B", number, time: time).event.encoded()
            _ = replay.saw(MQTTMessage(topic: "waypost/v1/\(agent)/log/i", payload: payload))
        }
        // Of one time, in reverse; and then the clock is put back.
        for number in (1...50).reversed() { add("a", Int64(number), time: 100) }
        add("a", 51, time: 20)
        add("b", 7, time: 50)
        add("b", 8, time: 200)
        let wanted = ["bB7"] + (1...51).map { "aB\($0)" } + ["bB8"]
        #expect(replay.wanted.map(\.event.message) == wanted)
    }

    @Test func `pages are asked for until what is wanted is there, and a restart in between is said`() throws
    {
        func answer(
            _ id: String, _ fields: String, status: String = "ok", code: String = "OK", number: Int = 0
        )
            -> MQTTMessage
        {
            let text =
                #"{"id":"\#(id)","type":"reply","status":"\#(status)","code":\#(number),"#
                + #""name":"\#(code)","at":9,"result":\#(fields)}"#
            return MQTTMessage(topic: "waypost/v1/k9/reply/me", payload: Array(text.utf8))
        }
        func page(_ numbers: ClosedRange<Int64>, next: Int64?, boot: String = "B") -> String {
            let events = numbers.map {
                String(decoding: Self.line("k9", boot, $0).event.encoded(), as: UTF8.self)
            }
            let place = next.map { #"{"boot":"\#(boot)","seq":\#($0)}"# } ?? "null"
            return #"{"boot":"\#(boot)","events":[\#(events.joined(separator: ","))],"#
                + #""next":\#(place),"first":{"seq":1,"t":0}}"#
        }
        func id(_ messages: [MQTTMessage]) throws -> String {
            try #require(messages.count == 1 ? messages[0].json?["id"]?.stringValue : nil)
        }
        var replay = ReplayCollector(
            agents: ["k9"], sender: "me", topics: .standard, past: LogRequest.Past(last: 25))
        _ = replay.saw(answer(replay.command.id, page(91...100, next: 91)))
        #expect(!replay.isComplete)
        let second = try id(replay.takeRequests())
        // It is asked too often, and asked again later.
        _ = replay.saw(answer(second, "null", status: "rejected", code: "BUSY", number: 429))
        #expect(replay.takeRequests().isEmpty && !replay.isComplete)
        let third = replay.takeDelayed()
        #expect(third.first?.json?["before"]?["seq"] == 91)
        // The answer to a command that was given up is none.
        _ = replay.saw(answer(second, page(1...5, next: 1)))
        #expect(!replay.isComplete)
        _ = replay.saw(answer(try id(third), page(81...90, next: 81)))
        _ = replay.saw(answer(try id(replay.takeRequests()), page(71...80, next: 71)))
        #expect(replay.isComplete && replay.takeRequests().isEmpty && replay.gaps.isEmpty)
        #expect(replay.wanted.map(\.event.sequence) == Array(76...100))

        var restarted = ReplayCollector(agents: ["k9"], sender: "me", topics: .standard)
        _ = restarted.saw(answer(restarted.command.id, page(91...100, next: 91)))
        #expect(restarted.gaps == ["k9 no longer answers; its events before seq 91 are not looked at"])
        _ = restarted.saw(answer(try id(restarted.takeRequests()), page(1...1, next: nil, boot: "C")))
        #expect(restarted.isComplete)
        #expect(restarted.gaps == ["k9 was restarted meanwhile; its events before seq 91 are not looked at"])

        // An agent that goes round in a circle is not followed.
        var circle = ReplayCollector(agents: ["k9"], sender: "me", topics: .standard)
        _ = circle.saw(answer(circle.command.id, page(91...100, next: 91)))
        _ = circle.saw(answer(try id(circle.takeRequests()), page(91...100, next: 91)))
        #expect(circle.isComplete && circle.takeRequests().isEmpty)
    }

    @Test func `an agent is asked for what it can evaluate, and for no less than what is wanted`() throws {
        for (query, asked) in [
            ("tag:Router -message:demo level:W", "tag:Router -message:demo level:W"),
            ("tag:Router tag~:Serv.* level:W", "level:W"), ("-message~:'a b' is:failure", "is:failure"),
            ("url~:x 'two words' -tag=:A", "'two words' -tag=:A"), ("message~:x", ""), ("", ""),
            (String(repeating: "tag:abcdefghijk ", count: 70), ""),
        ] {
            let text = try LogQuery(query).textForAgent
            #expect(text == asked)
            _ = try LogQuery(forAgent: text)
        }
    }
}
