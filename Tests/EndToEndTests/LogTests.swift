import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI

/// What is published, what is published again, and how it is shown.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct LogTests {
    @Test func `log changes what is published until the time is over, across a restart too`() async throws {
        let site = try await Site.open()
        let logcat = try site.start("logcat", "--agent", "k1", "-v", "brief")
        try await logcat.printedError("k1 is online")
        let ending = try await site.run("log", "V", "--agent", "k1", "--for", "2m", "--tag", "Router")
        #expect(ending.status == 0)
        #expect(
            ending.output.first?.hasPrefix(
                "ok: k1 publishes events of tag Router of level V and higher until ")
                == true)
        _ = try await site.run("open", "scheme://router/user/7", "--agent", "k1")
        try await logcat.printed("V/Router")
        #expect(try await site.agent.terminate() == 0)
        let again = try RunningAgent("k1", broker: site.broker.url, directory: site.agent.directory)
        try await again.online()
        _ = try await site.run("open", "scheme://router/demo?id=8", "--agent", "k1")
        try await logcat.printed("demo?id=8")
        logcat.send(signal: SIGTERM)
        let lines = try await logcat.ending().output
        #expect(lines.contains { $0.hasPrefix("V/Router") && $0.contains("id=8") })
        // Another tag is not touched: calls are logged at level V.
        #expect(!lines.contains { $0.hasPrefix("V/Service") })
        #expect(try await again.terminate() == 0)
    }

    @Test func `replay prints what the agent still has, in order, once`() async throws {
        let site = try await Site.open()
        for id in 1...3 {
            _ = try await site.run("open", "scheme://router/user/\(id)", "--agent", "k1")
        }
        _ = try await site.run("open", "scheme://router/nowhere", "--agent", "k1", "--no-check")
        let ending = try await site.run("replay", "--agent", "k1", "--since", "10m", "--json")
        #expect(ending.status == 0)
        #expect(ending.errorLines.isEmpty)
        let events = try ending.output.map { try JSONValue(parsing: $0) }
        let numbers = events.compactMap { $0["seq"]?.intValue }
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
        let opened = events.compactMap { $0["msg"]?.stringValue }.filter { $0.hasPrefix("opened") }
        #expect(opened == (1...3).map { "opened scheme://router/user/\($0)" })
        let errors = try await site.run("replay", "--agent", "k1", "--level", "E", "-v", "brief")
        #expect(errors.output.count == 1)
        #expect(errors.output.first?.hasPrefix("E/Router") == true)
        let none = try await site.run("replay", "--agent", "k1", "--since", "0s")
        #expect(none.status == 0 && none.output.isEmpty)
    }

    @Test func `logcat begins with the past where it is asked to, and doubles nothing`() async throws {
        let site = try await Site.open()
        _ = try await site.run("open", "scheme://router/user/1", "--agent", "k1")
        let logcat = try site.start("logcat", "--since", "10m", "--json", "Router:I", "*:S")
        try await logcat.printed("router/user/1")
        // Another operator asks for the same events; they come by on the same topics.
        let other = try await site.run("replay", "--agent", "k1")
        #expect(other.output.contains { $0.contains("user/1") })
        _ = try await site.run("open", "scheme://router/user/2", "--agent", "k1")
        try await logcat.printed("user/2")
        logcat.send(signal: SIGTERM)
        let ending = try await logcat.ending()
        #expect(ending.status == 0)
        let messages = try ending.output.compactMap { try JSONValue(parsing: $0)["msg"]?.stringValue }
        #expect(messages == (1...2).map { "opened scheme://router/user/\($0)" })
    }

    // Both are there when logcat comes, and so in one moment: an agent's come as far apart as its machine is busy.
    @Test func `a failure that comes as an event and as a report is one line`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        var event = LogEvent(
            time: 1_795_216_999_123, level: .error, tag: "Router", boot: "B", sequence: 1, process: 71,
            thread: 72, message: "404 NO_ROUTE: no route matches a://x", url: "a://x", isError: true)
        event.ref = "c1"
        let report = FailureReport(
            id: "f1", code: .noRoute, origin: .router, ref: "c1", url: "a://x",
            detail: "no route matches a://x", at: 1_795_216_999_123)
        let other = FailureReport(
            id: "f2", code: .noRoute, origin: .router, ref: "c2", url: "a://y",
            detail: "no route matches a://y", at: 1_795_216_999_124)
        try await backend.publish(report.encoded(), to: "waypost/v1/k9/fail", retain: true)
        try await backend.publish(event.encoded(), to: "waypost/v1/k9/log/e", retain: true)
        let logcat = try RunningCommand(
            ["logcat", "--agent", "k9", "-v", "brief"], environment: ["WAYPOST_BROKER": broker.url])
        try await logcat.printed("E/Router  (   71): 404 NO_ROUTE: no route matches a://x")
        // What no event tells of is a line of its own, and behind all that came before it.
        try await backend.publish(other.encoded(), to: "waypost/v1/k9/fail")
        try await logcat.printed("E/Fail    (    -): 404 NO_ROUTE in router: no route matches a://y")
        logcat.send(signal: SIGTERM)
        #expect(try await logcat.ending().output.count == 2)
        await backend.disconnect()
    }

    @Test func `logcat prints the past and ends, as adb does`() async throws {
        let site = try await Site.open()
        let live = try site.start("logcat", "--agent", "k1", "-v", "brief")
        try await live.printedError("k1 is online")
        for path in ["demo", "user/7"] {
            _ = try await site.run("open", "scheme://router/\(path)", "--agent", "k1", "--no-check")
        }
        _ = try await site.run("open", "scheme://router/nowhere", "--agent", "k1", "--no-check")
        let failure = try await live.printed("E/Router")
        live.send(signal: SIGTERM)
        #expect(failure.contains("404 NO_ROUTE") && failure.contains("nowhere"))
        #expect(!failure.contains("(    -)"))
        #expect(try await live.ending().output.filter { $0 == failure }.count == 1)

        func past(_ arguments: String...) async throws -> [String] {
            let ending = try await RunningCommand.run(
                ["logcat", "--agent", "k1", "-v", "brief"] + arguments,
                environment: ["WAYPOST_BROKER": site.broker.url])
            #expect(ending.status == 0, "\(ending)")
            return ending.output
        }
        let all = try await past("-d")
        #expect(all.count >= 4)
        #expect(all.contains { $0.contains("user/7") })
        #expect(try await past("-d", "--since", "1h") == all)
        #expect(try await past("-t", "2") == all.suffix(2))
        #expect(try await past("-d", "-m", "1") == Array(all.prefix(1)))
        #expect(try await past("-d", "-e", "user/[0-9]").count == 1)
        #expect(try await past("-d", "--query", "level:W code:404 is:failure").count >= 1)
        #expect(try await past("-d", "-s").isEmpty)
        #expect(try await past("-d", "--pid", "1").isEmpty)
        let unknown = try await site.run("logcat", "-d", "--agent", "nosuch")
        #expect(unknown.status == 3)
        #expect(unknown.errorLines.last?.contains("there is no agent nosuch at this broker") == true)
        for wrong in [["--query", "tga:x"], ["-e", "("], ["-v", "long"], ["-t", "0"], ["-d", "-T", "1"]] {
            #expect(try await RunningCommand.run(["logcat"] + wrong).status == 64, "\(wrong)")
        }
    }

    @Test func `lines of all levels come in the order of their numbers`() {
        var window = ReorderWindow()
        func add(_ agent: String, _ sequence: Int64) {
            let event = LogEvent(
                time: 0, level: .info, tag: "T", boot: "B", sequence: sequence, process: 0, thread: 0,
                message: "")
            window.add(AgentEvent(agent: agent, event: event, source: []))
        }
        for (agent, sequence) in [("a", 3), ("b", 9), ("a", 1), ("a", 0), ("b", 8), ("a", 2)]
            as [(String, Int64)]
        {
            add(agent, sequence)
        }
        let lines = window.take().map { "\($0.agent)\($0.event.sequence)" }
        #expect(lines == ["a1", "b8", "a2", "a0", "b9", "a3"])
        #expect(window.isEmpty)
    }

    @Test func `lines wait for others up to a bound of their number and of their bytes`() {
        func isFull(after count: Int, of bytes: Int) -> Bool {
            var window = ReorderWindow()
            let event = LogEvent(
                time: 0, level: .info, tag: "T", boot: "B", sequence: 1, process: 0, thread: 0, message: "")
            let line = AgentEvent(agent: "a", event: event, source: [UInt8](repeating: 7, count: bytes))
            for _ in 0..<count { window.add(line) }
            defer { #expect(window.take().count == count && !window.isFull) }
            return window.isFull
        }
        #expect(!isFull(after: 999, of: 100))
        #expect(isFull(after: 1_000, of: 100))
        #expect(isFull(after: 4, of: 1 << 20))
    }

    @Test func `logcat follows the agents that are named, of a group, or whose name matches`() async throws {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let others = try ["k2", "desk-1"].map { name in
            try RunningAgent(
                name, broker: site.broker.url,
                arguments: ["--demo"] + (name == "k2" ? ["--group", "lobby"] : []))
        }
        for other in others { try await other.online() }
        let all = ["k1", "k2", "desk-1"]
        for name in all { _ = try await site.run("open", "scheme://router/user/7", "--agent", name) }
        for (options, wanted) in [
            (["--agent", "k1", "--agent", "desk-1"], ["desk-1", "k1"]),
            (["--group", "lobby"], ["k1", "k2"]),
            (["--matching", "^k[0-9]$"], ["k1", "k2"]), (["--matching", "1"], ["desk-1", "k1"]),
            ([], all.sorted()),
        ] {
            let ending = try await RunningCommand.run(
                ["logcat", "-d", "--json"] + options, environment: ["WAYPOST_BROKER": site.broker.url])
            #expect(ending.status == 0, "\(ending.errorLines)")
            let names = Set(try ending.output.map { try JSONValue(parsing: $0)["agent"]?.stringValue ?? "" })
            #expect(names.sorted() == wanted, "\(options)")
        }
        for (options, fault) in [
            (
                ["--agent", "k1", "--agent", "desk1"],
                "there is no agent desk1 at this broker; did you mean desk-1?"
            ),
            (["--group", "loby"], "no agent at this broker is in a group loby; did you mean lobby?"),
            (["--matching", "^x"], "no agent name at this broker matches"),
        ] {
            let ending = try await RunningCommand.run(
                ["logcat", "-d"] + options, environment: ["WAYPOST_BROKER": site.broker.url])
            #expect(ending.status == 3 && ending.errorLines.joined().contains(fault), "\(ending.errorLines)")
        }
        let live = try site.start("logcat", "--group", "lobby", "--json")
        try await live.printedError("k2 is online")
        for name in ["desk-1", "k2"] {
            _ = try await site.run("open", "scheme://router/user/\(name)", "--agent", name)
        }
        let line = try await live.printed("user/")
        #expect(line.contains(#""agent":"k2""#), "\(line)")
        live.send(signal: SIGTERM)
        _ = try await live.ending()
    }

    @Test func `after a lost connection logcat fetches what it missed`() async throws {
        let site = try await Site.open()
        let relay = try Relay(to: site.broker.port)
        defer { relay.end() }
        let logcat = try RunningCommand(
            ["logcat", "--agent", "k1", "-v", "brief"], environment: ["WAYPOST_BROKER": relay.url])
        try await logcat.printedError("k1 is online")
        func open(_ number: Int) async throws {
            _ = try await site.run("open", "scheme://router/user/\(number)", "--agent", "k1")
        }
        try await open(1)
        try await logcat.printed("user/1")
        relay.cut()
        try await logcat.printedError("reconnecting")
        for number in 2...4 { try await open(number) }
        relay.mend()
        try await logcat.printedError("reconnected")
        try await open(5)
        try await logcat.printed("user/5")
        logcat.send(signal: SIGTERM)
        let ending = try await logcat.ending()
        let opened = ending.output.filter { $0.contains("opened") }
        #expect(opened.count == 5, "\(ending.output)")
        for (number, line) in zip(1...5, opened) { #expect(line.contains("user/\(number)"), "\(opened)") }
        #expect(!ending.errorLines.contains { $0.contains("missed") }, "\(ending.errorLines)")
    }

    @Test func `logcat --failures shows failure reports and nothing else`() async throws {
        let site = try await Site.open()
        let logcat = try site.start("logcat", "--failures", "-v", "brief")
        try await logcat.printedError("k1 is online")
        _ = try await site.run("open", "scheme://router/demo", "--agent", "k1")
        _ = try await site.run("open", "scheme://router/nowhere", "--agent", "k1", "--no-check")
        try await logcat.printed("404 NO_ROUTE")
        logcat.send(signal: SIGTERM)
        let lines = try await logcat.ending().output
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("k1       E/Fail    (    -): 404 NO_ROUTE in router") == true)
    }

    @Test(arguments: ["threadtime", "brief", "json"])
    func `a line has the form that -v names`(_ form: String) async throws {
        let site = try await Site.open()
        _ = try await site.run("open", "scheme://router/user/5", "--agent", "k1")
        let ending = try await site.run("replay", "--agent", "k1", "-v", form, "--tag", "Router")
        let line = try #require(ending.output.last)
        switch form {
        case "threadtime":
            let pattern = #/\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +\d+ +\d+ I Router  : opened scheme:.*/#
            #expect(try pattern.wholeMatch(in: line) != nil)
        case "brief":
            #expect(try #/I/Router  \( *\d+\): opened scheme:.*/#.wholeMatch(in: line) != nil)
        default:
            #expect(try JSONValue(parsing: line)["tag"] == "Router")
        }
    }
}
