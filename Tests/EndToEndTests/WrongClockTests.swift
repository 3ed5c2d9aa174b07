import CommandSupport
import Foundation
import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI

/// An agent whose clock is wrong by 400 days can be looked at and controlled, and no time that is shown is its own.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct WrongClockTests {
    static let days: Int64 = 86_400_000

    /// A broker and an agent `k1` whose clock is wrong.
    private final class WrongSite: Sendable {
        let broker: TestBroker
        let agent: AgentProcess
        private let began = WallClock.now()

        init(_ offset: Int64) async throws {
            broker = try await TestBroker.start()
            agent = try AgentProcess(
                "k1", broker: broker.url,
                environment: [
                    "WAYPOST_CLOCK_OFFSET": String(offset * WrongClockTests.days), "TZ": "UTC",
                    "WAYPOST_HANDLER_DEADLINE": "600",
                ])
            try await agent.online()
        }

        deinit { broker.end() }

        /// Runs a command line, with words of one space between.
        func run(_ line: String) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(
                line.split(separator: " ").map(String.init), environment: ["WAYPOST_BROKER": broker.url])
        }

        /// The times in a text that are not of about now, in whichever zone.
        func wrongTimes(in text: String) -> [String] {
            let today = stride(
                from: began - WrongClockTests.days, through: WallClock.now() + WrongClockTests.days,
                by: Int(WrongClockTests.days / 2)
            ).map { Timestamp.rfc3339($0).prefix(10) }
            return text.matches(of: /(\d{4}-)?\d{2}-\d{2} \d{2}:\d{2}:\d{2}/).map { String($0.output.0) }
                .filter { time in !today.contains { $0.hasSuffix(time.prefix { $0 != " " }) } }
        }
    }

    @Test(arguments: [-400, 400] as [Int64])
    func `all screens show right times of an agent whose clock is wrong, and say that it is`(
        _ offset: Int64
    ) async throws {
        let site = try await WrongSite(offset)
        let watch = try TerminalSession(
            "$WAYPOST watch", rows: 40, columns: 200,
            environment: ["WAYPOST_BROKER": site.broker.url, "NO_COLOR": "1", "TZ": "UTC"])
        try await watch.shows("k1")
        let map = try ScratchFile(
            #"""
            {"type":"map","rev":1,"entries":[{"routerType":1,"orginPath":"scheme://router/typo",
             "targetPath":"scheme://router/demo"}]}
            """#, name: "map.json")
        for line in [
            "open scheme://router/demo --agent k1 --ttl 1m --id c-1", "log V --agent k1",
            "relocate --file \(map.path) --agent k1 --yes",
        ] {
            let ending = try await site.run(line)
            #expect(ending.status == 0, "\(line): \(ending)")
        }
        let refused = try await site.run("open scheme://router/no --agent k1 --no-check --ttl 1m")
        #expect(refused.output.first?.contains("404 NO_ROUTE") == true, "\(refused)")

        let notice = "the clock of k1 is 400 d \(offset > 0 ? "ahead" : "behind")"
        for (line, wanted) in [
            // `over` unless its next health comes meanwhile.
            ("agents", "online  "), ("agents -o wide", "online  "), ("describe agent k1", "log  "),
            ("ping --agent k1", notice), ("logcat -d --agent k1 --level I", "opened scheme://router/demo"),
            ("logcat -d --agent k1 --since 5m", "opened scheme://router/demo"),
            ("logcat -d -t 50 --query age:5m", "opened scheme://router/demo"),
            ("replay --agent k1 --since 5m", "opened scheme://router/demo"),
            ("failures", "404 NO_ROUTE"), ("failures --since 5m", "404 NO_ROUTE"),
            ("failures --each", "404 NO_ROUTE"), ("map show --agent k1", "since 2"),
            ("map history --agent k1", "in force"), ("explain c-1 --agent k1", "received"),
        ] {
            let ending = try await site.run(line)
            let text = ending.output.joined(separator: "\n")
            #expect(ending.status == 0 && text.contains(wanted), "\(line): \(ending)")
            #expect(site.wrongTimes(in: text) == [], "\(line): \(text)")
            // The lists say it in PROBLEM: by how much, or that the agent's own check failed.
            let isSaid = (ending.output + ending.errorLines).contains {
                $0.contains(notice) || $0.contains("its clock is 400 d") || $0.contains("clock: it shows")
            }
            #expect(isSaid, "\(line): \(ending)")
        }
        let screen = try await watch.shows("404 NO_ROUTE")
        #expect(
            screen.contains("opened scheme://router/demo") && site.wrongTimes(in: screen) == [], "\(screen)")
        try watch.type("q")
        #expect(try await watch.status() == 0)

        let json = try #require(try await site.run("agents --json").output.first)
        let ahead = try JSONValue(parsing: Array(json.utf8))["clockAheadMs"]?.intValue
        #expect(abs((ahead ?? 0) - offset * Self.days) < 600_000, "\(json)")
        #expect(try await site.agent.terminate() == 0)
        // Nothing is known of when it went: this machine has not seen it.
        let row = try #require(try await site.run("agents").output.last)
        #expect(row.contains("shut down  ?") && row.contains("its times are not known"), "\(row)")
    }

    @Test(arguments: [-400, -1, 400] as [Int64])
    func `the advice for a command that is refused for the clock works`(_ offset: Int64) async throws {
        let site = try await WrongSite(offset)
        let open = "open scheme://router/demo --agent k1"
        for line in [open, open + " --expires 10m"] {
            let refused = try await site.run(line)
            let advice = refused.output.compactMap {
                $0.firstMatch(of: /to send it now: (--ttl \d+s)/)?.output.1
            }
            #expect(refused.status == 1 && advice.count == 1, "\(refused)")
            #expect(!refused.output.contains { $0.contains("try again") }, "\(refused)")
            let sent = try await site.run("\(open) \(advice.first ?? "")")
            #expect(sent.status == 0, "\(sent)")
        }
        #expect(try await site.run(open + " --expires never").status == 0)
        #expect(try await site.agent.terminate() == 0)
    }

    @Test(arguments: [-400, 400] as [Int64])
    func `a command is cancelled whatever the agent's clock shows`(_ offset: Int64) async throws {
        let site = try await WrongSite(offset)
        let call = "call ClockService sleep --args [500000] --agent k1 --ttl 1m --id nap --wait 0"
        #expect(try await site.run(call).status == 0)
        let cancel = try await site.run("cancel nap --agent k1")
        #expect(cancel.status == 0, "\(cancel)")
        #expect(try await site.agent.terminate() == 0)
    }

    @Test func `a map whose exp only the agent's clock has passed is refused with the reason`() async throws {
        let site = try await WrongSite(400)
        let exp = WallClock.now() + 600_000
        let entries =
            #"[{"routerType":1,"orginPath":"scheme://router/a","targetPath":"scheme://router/demo"}]"#
        let map = try ScratchFile(
            #"{"type":"map","rev":1,"exp":\#(exp),"entries":\#(entries)}"#, name: "map.json")
        let refused = try await site.run("relocate --file \(map.path) --agent k1 --yes")
        #expect(refused.status == 1)
        #expect(refused.output.last?.contains("the agent's clock is ahead") == true, "\(refused)")
        let lasting = try ScratchFile(#"{"type":"map","rev":2,"entries":\#(entries)}"#, name: "map.json")
        #expect(try await site.run("relocate --file \(lasting.path) --agent k1 --yes").status == 0)
        #expect(try await site.agent.terminate() == 0)
    }

    @Test(arguments: [(-400, "behind"), (400, "ahead of")] as [(Int64, String)])
    func `who follows the log is told that the times of an agent are wrong`(
        _ offset: Int64, _ side: String
    ) async throws {
        let site = try await WrongSite(offset)
        let logcat = try RunningCommand(["logcat"], environment: ["WAYPOST_BROKER": site.broker.url])
        try await logcat.printedError("k1 is online")
        _ = try await site.run("open scheme://router/demo --agent k1 --ttl 1m")
        try await logcat.printedError("the times of k1 are 400 d \(side) this machine's")
        logcat.send(signal: SIGTERM)
        _ = try await logcat.ending()
        #expect(try await site.agent.terminate() == 0)
    }

    @Test func `the doctor finds the wrong clock of an agent that it does not ask`() async throws {
        let site = try await WrongSite(400)
        let right = try RunningAgent("a-right", broker: site.broker.url)
        // The doctor asks an agent that is well.
        try await eventually("a-right is green") {
            try await site.run("agents a-right").output.last?.contains(" green ") == true
        }
        let doctor = try await site.run("doctor")
        #expect(doctor.output.contains { $0.contains("k1: its clock is 400 d ahead of") }, "\(doctor)")
        #expect(doctor.output.contains { $0.contains("the clock of a-right is") }, "\(doctor)")
        #expect(try await right.terminate() == 0)
        #expect(try await site.agent.terminate() == 0)
    }

    @Test(
        arguments: [
            // A reply that took a minute may have been written a minute ago by a clock that is right.
            (-60_000, 60_000, 0), (-60_000, 200, -59_900), (60_000, 200, 60_100), (-29_000, 0, 0),
            (86_400_000, 60_000, 86_430_000),
        ] as [(Int64, Int64, Int64)])
    func `a reply that was long on its way makes no clock wrong`(
        written: Int64, roundTrip: Int64, error: Int64
    ) throws {
        let now: Int64 = 1_795_687_200_000
        let reply = try Reply(["id": "c", "status": "ok", "code": 0, "name": "OK", "at": .int(now + written)])
        #expect(ClockOffset.error(of: reply, roundTrip: roundTrip, now: now) == error)
    }

    @Test func `that a clock is wrong is news, and by how many milliseconds is not`() {
        let topics = Topics.standard
        var roster = Roster(topics: topics)
        func news(_ offset: Int64) -> AgentStatus? {
            let health = "{\"status\":\"green\",\"at\":\(1_700_000_000_000 + offset),\"checks\":[]}"
            roster.saw(.json(topics.health(of: "k1"), Array(health.utf8)), now: 1_700_000_000_000)
            return roster.news(of: "k1")
        }
        let (right, ahead) = (news(0), news(400 * Self.days))
        #expect(right != ahead && ahead == news(400 * Self.days - 7) && ahead != news(-400 * Self.days))
    }

    @Test func `the difference of two clocks is rounded, and not cut`() {
        let way: Int64 = 40
        #expect(TimeText.difference(400 * Self.days - way) == "400 d")
        #expect(TimeText.difference(way - 400 * Self.days) == "400 d")
        #expect(TimeText.difference(7_200_000 - way) == "2 h")
        #expect(TimeText.difference(.min) == TimeText.difference(.max))
    }

    @Test func `a line that came just now is corrected only where that brings it nearer`() {
        let now = WallClock.now()
        func line(_ time: Int64) -> AgentEvent {
            AgentEvent(
                agent: "k1",
                event: LogEvent(
                    time: time, level: .info, tag: "T", boot: "b", sequence: 1, process: 1, thread: 1,
                    message: "m"),
                source: [])
        }
        let error = -400 * Self.days
        #expect(line(now + error - 5).corrected(by: error, now: now).event.time == now - 5)
        // The agent's clock was set meanwhile.
        #expect(line(now - 5).corrected(by: error, now: now).event.time == now - 5)
        // What is known from what the broker kept is up to a minute too much.
        #expect(line(now + error + 40_000).corrected(by: error, now: now).event.time == now)
    }
}
