import ArgumentParser
import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostCLI

/// What agents publish, bent and broken, through all that an operator's command makes of it: nothing may trap, and
/// nothing that a terminal obeys may be printed.
///
/// `WAYPOST_FUZZ_RUNS` sets the number of inputs, 5 000 unless set; `WAYPOST_FUZZ_SEED` repeats a run.
@Suite struct `Mutated bytes from agents` {
    private static let runs =
        ProcessInfo.processInfo.environment["WAYPOST_FUZZ_RUNS"].flatMap(Int.init) ?? 5_000
    private static let seed = {
        let seed =
            ProcessInfo.processInfo.environment["WAYPOST_FUZZ_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...UInt64.max)
        // Before anything runs: after a crash there is no one left to say it.
        print("WAYPOST_FUZZ_SEED=\(seed)")
        return seed
    }()

    private static let topics = [
        "state", "health", "map/applied", "log/i", "fail", "reply/me", "routes", "log/x", "reply/x",
    ]

    private static let samples: [[String]] = [
        [
            #"{"state":"online","epoch":7,"boot":"B","why":"birth","agent":"k1","version":"1.0","mqtt":5}"#,
            #"{"state":"offline","epoch":7,"boot":"B","why":"will","agent":"k1","version":"1.0","mqtt":4}"#,
        ],
        [
            #"{"type":"health","agent":"k1","epoch":7,"version":"1.0","at":1795216999123,"uptime":86400000,"status":"red","mqtt":5,"checks":[{"name":"loop","ok":true,"detail":"running"},{"name":"echo","ok":false,"detail":"missing"}],"counters":{"received":5},"map":{"rev":4,"entries":3,"inactive":1}}"#
        ],
        [
            #"{"layers":[{"layer":"agent","rev":4,"digest":"sha256:00","at":1795216999123}],"entries":3,"inactive":[{"layer":"agent","index":0,"reason":"no class"}],"refused":null}"#,
            #"{"layers":[],"entries":0,"inactive":[],"refused":{"layer":"patch","rev":4,"digest":"DIGEST","code":422,"name":"CYCLE","detail":"a → b","at":5}}"#,
        ],
        [
            #"{"t":1795216999123,"l":"I","tag":"Router","boot":"B","seq":41,"pid":71,"tid":72,"msg":"opened","url":"scheme://router/demo","type":0,"ref":"c"}"#,
            "{\"t\":1,\"l\":\"E\",\"tag\":\"A\",\"boot\":\"B\",\"seq\":42,\"pid\":1,\"tid\":2,\"msg\":\"m\",\"dropped\":3}\n{\"t\":2,\"l\":\"V\",\"tag\":\"B\",\"boot\":\"C\",\"seq\":1,\"msg\":\"n\"}",
        ],
        [
            #"{"id":"f","type":"fail","code":404,"name":"NO_ROUTE","retryable":false,"ref":"c","where":"router","url":"scheme://x","detail":"no route","nearest":["a","b"],"count":3,"first":1795216999123,"last":1795216999124}"#
        ],
        [
            #"{"id":"ID","type":"reply","status":"ok","code":0,"name":"OK","dup":false,"ms":3,"attempt":1,"at":1795216999123,"result":{"url":"scheme://x","route":"scheme://x","hops":["a"],"value":5}}"#,
            #"{"id":"ID","type":"reply","status":"ok","code":0,"name":"OK","dup":true,"ms":3,"attempt":2,"at":1795216999123,"result":{"replayed":2,"last":42,"until":1795216999123,"level":"v","status":"green","uptime":5,"mqtt":4,"version":"1","map":{"rev":1}}}"#,
            #"{"id":"ID","type":"reply","status":"rejected","code":404,"name":"NO_ROUTE","dup":false,"ms":3,"attempt":1,"at":1795216999123,"result":null,"detail":"no route","nearest":["a"]}"#,
        ],
        [#"[{"path":"scheme://router/demo","class":"Demo","priority":0,"kind":"route"}]"#],
        [#"{"t":1,"l":"N","tag":"A","boot":"B","seq":5,"msg":"m"}"#],
        [#"{"id":"ID","status":"ok","code":0,"name":"OK","at":5}"#],
    ]

    /// All that operators' commands keep of what they have read.
    private struct Operator {
        let topics = Topics.standard
        let style = Style(isOn: false)
        let relocation = Relocation(document: Array("{}".utf8), .patch)
        let log: LogCommand
        let ping: PingCommand
        var roster = Roster(topics: .standard)
        var watch: WatchModel
        var gaps = GapDetector()
        var deduplicator = EventDeduplicator()
        var replay = ReplayCollector(agent: nil, sender: "me", topics: .standard)
        var diagnosis = NoReplyDiagnosis(.agent("k1"), topics: .standard)
        var tally = BenchTally()

        init() throws {
            log = try LogCommand.parse(["V", "--agent", "k1"])
            ping = try PingCommand.parse(["--agent", "k1"])
            watch = WatchModel(topics: .standard, filter: try LogFilter([], level: nil, tag: nil))
            for _ in 0..<5 { _ = tally.sends(due: .now) }
        }

        /// Everything that is printed for a message, for people and as JSON.
        mutating func lines(_ message: MQTTMessage, _ pick: Int) -> (texts: [TerminalText], json: [[UInt8]]) {
            var texts: [TerminalText] = []
            var json: [[UInt8]] = []
            roster.saw(message)
            watch.saw(message)
            diagnosis.saw(message)
            _ = replay.saw(message)
            texts.append(TerminalText(diagnosis.explanation(after: "1 s")))
            let agent = topics.outbound(message.topic)?.agent ?? "k1"
            var events = LogLine.events(message.payload, from: agent)
            if let failure = LogLine.failure(message.payload, from: agent) { events.append(failure) }
            for line in events {
                _ = deduplicator.isNew(line.event, from: agent)
                if let missing = gaps.saw(line.event, from: agent) { texts.append(TerminalText(missing)) }
                texts.append(line.text(pick % 2 == 0 ? .threadtime : .brief, style, agentWidth: pick % 3 * 4))
                json.append(line.source)
            }
            if pick % 5 == 0 { gaps.cameBack() }
            if let value = message.json, let reply = try? Reply(value) {
                let answer = AgentReply(agent: agent, reply: reply, payload: message.payload, roundTrip: 5)
                texts += ReplyText(style: style).lines(answer) + log.lines(answer) + ping.lines(answer)
                texts += BrokerCheck.clock(of: reply, from: agent, asked: WallClock.now(), trip: 7).lines(
                    style)
                json.append(answer.jsonLine())
                tally.replied(pick % 7, reply, at: .now)
            }
            let matcher = RelocationResultMatcher(relocation, for: .agent("k1"), topics: topics)
            if let result = matcher.result(in: message) {
                texts += RelocateCommand.lines(result, style)
                json.append(result.line)
            }
            if pick % 11 == 0 {
                texts += BrokerVersion(String(decoding: message.payload, as: UTF8.self)).finding.lines(style)
            }
            if pick % 50 == 0 {
                let now = [WallClock.now(), 0, .max, .min][pick / 50 % 4]
                texts += roster.table(style, now: now)
                texts += WatchScreen(rows: 24, columns: 80, style: style).lines(watch, now: now)
                json += roster.json.map { $0.serialized() }
                texts += BenchReport(tally: tally, agent: agent, isWhole: true).lines(style)
            }
            if pick == 0 {
                _ = replay.isComplete
                texts += replay.events(back: .minutes(10)).map {
                    $0.text(.threadtime, style, agentWidth: nil)
                }
                texts += replay.cutShort(back: .minutes(10)).map { TerminalText($0) }
            }
            return (texts, json)
        }
    }

    @Test func `are shown or passed over, and no terminal obeys them`() throws {
        var bytes = MessageMutator(seed: Self.seed, samples: Self.samples)
        var shown = 0
        var console = try Operator()
        for run in 0..<Self.runs {
            if run % 2_000 == 0 { console = try Operator() }
            let kind = bytes.below(Self.topics.count)
            let payload = Array(
                String(decoding: bytes.next(kind), as: UTF8.self)
                    .replacing("ID", with: console.replay.command.id)
                    .replacing("DIGEST", with: console.relocation.digest).utf8)
            let message = MQTTMessage(
                topic: "waypost/v1/k\(bytes.below(3))/\(Self.topics[kind])", payload: payload,
                retain: bytes.below(2) == 0)
            let (texts, json) = console.lines(message, bytes.below(1_000))
            shown += texts.count
            let isBad =
                texts.contains { $0.text.unicodeScalars.contains(where: \.isUnsafeForTerminal) }
                || json.contains { line in
                    let escaped = TerminalJSON.escaped(line)
                    return String(decoding: escaped, as: UTF8.self).unicodeScalars
                        .contains(where: \.isUnsafeForTerminal)
                        || (try? JSONValue(parsing: escaped, limits: .trustedFile))
                            != (try? JSONValue(parsing: line, limits: .trustedFile))
                }
            guard !isBad else {
                Issue.record(
                    "seed \(Self.seed), run \(run): \(String(decoding: payload, as: UTF8.self).debugDescription)"
                )
                return
            }
        }
        #expect(shown > Self.runs)
    }
}
