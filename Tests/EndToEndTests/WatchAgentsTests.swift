import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct WatchAgentsTests {
    @Test func `logcat shows events and failures, and who is there`() async throws {
        let site = try await Site.open()
        let logcat = try site.start("logcat")
        try await logcat.printedError("k1 is online")
        _ = try await site.run("open", "scheme://router/user/7", "--agent", "k1")
        _ = try await site.run("open", "scheme://router/nowhere", "--agent", "k1", "--no-check")
        let opened = try await logcat.printed("opened scheme://router/user/7")
        #expect(opened.hasPrefix("k1 "))
        #expect(opened.contains(" I Router  : "))
        try await logcat.printed("E Router  : 404 NO_ROUTE")
        #expect(try await site.agent.terminate() == 0)
        try await logcat.printedError("k1 is offline: shut down")
        logcat.send(signal: SIGINT)
        #expect(try await logcat.ending().status == 130)
    }

    @Test(arguments: [60, 100, 160])
    func `on a terminal the list of agents fits it, and says when a lost one was last heard of`(columns: Int)
        async throws
    {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let gone = try AgentProcess("kiosk-7", broker: site.broker.url)
        try await gone.online()
        let watch = try site.start("agents", "kiosk-7", "--watch")
        try await watch.printed("kiosk-7  online")
        try await gone.kill()
        // Who sees it knows when it was.
        let seen = try await watch.printed("kiosk-7  lost")
        #expect(seen.contains(/^kiosk-7  lost  [0-9]+ s ago/), "\(seen)")
        watch.send(signal: SIGTERM)
        #expect(try await watch.ending().status == 0)
        let environment = ["WAYPOST_BROKER": site.broker.url, "NO_COLOR": "1"]
        for words in ["agents", "agents -o wide", "agents --wrap", "describe agent kiosk-7"] {
            let terminal = try TerminalSession(
                "$WAYPOST \(words)", columns: columns, environment: environment)
            #expect(try await terminal.status() == 0)
            let lines = terminal.text.split(whereSeparator: \.isNewline)
            #expect(lines.allSatisfy { $0.count <= columns }, "\(words): \(lines)")
            let table = lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
            #expect(table.contains("PROBLEM") && table.contains("last heard"), "\(words): \(lines)")
        }
        let page = try await site.run("describe", "agent", "kiosk-7")
        let asOf = try #require(page.output.firstIndex(of: "as of"))
        #expect(page.output[asOf + 1].contains("ago  before it was lost"), "\(page.output)")
        #expect(try await site.agent.terminate() == 0)
    }

    @Test func `agents can be chosen, and a name that no agent has is answered with the nearest`()
        async throws
    {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let other = try RunningAgent("kiosk-7", broker: site.broker.url)
        try await other.online()
        for (words, expected) in [
            (["k1"], ["k1"]), (["--group", "lobby"], ["k1"]), (["--state", "online"], ["k1", "kiosk-7"]),
            (["--state", "offline"], []), (["--sort", "name"], ["k1", "kiosk-7"]), (["--version", "x"], []),
        ] {
            let ending = try await RunningCommand.run(
                ["agents", "--names"] + words, environment: ["WAYPOST_BROKER": site.broker.url])
            #expect(ending.status == 0 && ending.output == expected, "\(words): \(ending)")
        }
        let unknown = try await site.run("agents", "kiosk7")
        #expect(unknown.status == 3)
        #expect(
            unknown.errorLines.last
                == "waypost: error: there is no agent kiosk7 at \(site.broker.url); did you mean kiosk-7?")
        let described = try await site.run("describe", "kiosk-7")
        #expect(described.status == 64)
        #expect(described.errorLines.first?.contains("waypost describe agent kiosk-7") == true)
        for wrong in [["agents", "--state", "gone"], ["agents", "--sort", "size"], ["describe", "agent"]] {
            #expect(try await RunningCommand.run(wrong).status == 64, "\(wrong)")
        }
        #expect(try await other.terminate() == 0)
        #expect(try await site.agent.terminate() == 0)
    }

    @Test func `agents --watch tells what changes, and describe agent tells all of one`() async throws {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let wide = try await site.run("agents", "-o", "wide")
        #expect(
            wide.output.first?.contains("BROKER") == true && wide.output.first?.hasSuffix("PROBLEM") == true)
        #expect(wide.output.last?.contains("  lobby  ") == true, "\(wide.output)")
        let watch = try site.start("agents", "--watch", "--json")
        try await watch.printed(#""online":true"#)

        let page = try await site.run("describe", "agent", "k1")
        #expect(page.status == 0)
        for part in [
            "k1     online", "as of", "  now  the agent was asked just now", "health", "  groups  ",
            "all, lobby", "can do", "limits", "at their defaults",
        ] {
            #expect(page.output.contains { $0.contains(part) }, "\(part)")
        }
        let json = try JSONValue(
            parsing: try await site.run("describe", "agent", "k1", "--json").output.first ?? "")
        #expect(json["health"]?["groups"] == ["lobby"])
        #expect(json["contract"]?["services"]?.arrayValue?.isEmpty == false)
        let services = try await site.run("services", "--agent", "k1")
        #expect(services.output.contains("CalculatorService"))
        #expect(services.output.contains("  add(a: Int, b: Int) -> Int, idempotent"))
        let demo = try await RunningCommand.run(["routes", "--demo"])
        #expect(try await site.run("routes", "--agent", "k1").output == demo.output)
        let unknown = try await site.run("describe", "agent", "k7")
        #expect(unknown.status == 3 && unknown.errorLines.joined().contains("did you mean k1?"), "\(unknown)")

        #expect(try await site.agent.terminate() == 0)
        try await watch.printed(#""online":false"#)
        watch.send(signal: SIGTERM)
        #expect(try await watch.ending().status == 0)
        for wrong in [["agents", "-o", "json"], ["agents", "--names", "--watch"], ["describe", "a", "b"]] {
            #expect(try await RunningCommand.run(wrong).status == 64, "\(wrong)")
        }
    }

    @Test func `logcat takes adb's filter words, and JSON lines have the agent's name`() async throws {
        let site = try await Site.open()
        let logcat = try site.start("logcat", "--agent", "k1", "--json", "Router:E", "*:S")
        try await logcat.printedError("k1 is online")
        _ = try await site.run("open", "scheme://router/demo", "--agent", "k1")
        _ = try await site.run("open", "scheme://router/nowhere", "--agent", "k1", "--no-check")
        try await logcat.printed("404 NO_ROUTE")
        logcat.send(signal: SIGTERM)
        let ending = try await logcat.ending()
        #expect(ending.status == 0)
        #expect(ending.output.count == 1)
        let event = try JSONValue(parsing: try #require(ending.output.first))
        #expect(event["agent"] == "k1")
        #expect(event["l"] == "E")
        #expect(event["tag"] == "Router")
    }

    @Test func `logcat comes back when the broker does`() async throws {
        let site = try await Site.open()
        let logcat = try site.start("logcat")
        try await logcat.printedError("k1 is online")
        try await site.broker.restart()
        try await logcat.printedError("reconnected to \(site.broker.url)")
        logcat.send(signal: SIGTERM)
        #expect(try await logcat.ending().status == 0)
    }

    @Test func `logcat ends quietly when its reader leaves`() async throws {
        let site = try await Site.open()
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = [
            "-c", #""$0" logcat --broker "$1" 2>/dev/null | head -n 1"#, CommandProcess.executable.path,
            site.broker.url,
        ]
        let output = Pipe.forOneChild()
        shell.standardOutput = output
        let lines = EventLog<String>()
        shell.terminationHandler = { lines.append("ended with \($0.terminationStatus)") }
        try withNoSignalBlocked { try shell.run() }
        try await site.broker.waitForLog(containing: "Received SUBSCRIBE from waypost-", times: 1)
        _ = try await site.run("open", "scheme://router/demo", "--agent", "k1")
        // The shell ends when both have: head after its line, logcat because head has gone.
        try await lines.wait(for: "the end of the pipeline") { !$0.isEmpty }
        #expect(lines.events == ["ended with 0"])
    }

    @Test func `agents lists who is there and who was`() async throws {
        let site = try await Site.open()
        let other = try RunningAgent("k2", broker: site.broker.url)
        try await other.online()
        #expect(try await other.terminate() == 0)
        var table = try await site.run("agents")
        // Green is its health once it has heard its own message, which a slow machine does later.
        try await eventually("a green k1") {
            table = try await site.run("agents")
            return table.output.contains { $0.hasPrefix("k1 ") && $0.contains("green") }
        }
        #expect(table.status == 0)
        #expect(table.output.first?.hasPrefix("AGENT") == true)
        #expect(
            table.output.contains { $0.hasPrefix("k1 ") && $0.contains("online") && $0.contains("green") })
        #expect(table.output.contains { $0.hasPrefix("k2 ") && $0.contains("shut down") })
        let lines = try await site.run("agents", "--json", "--wait", "5m")
        let agents = try lines.output.map { try JSONValue(parsing: $0) }
        #expect(agents.map { $0["agent"] } == ["k1", "k2"])
        #expect(agents.first?["state"]?["state"] == "online")
    }

    @Test func `a late will is not shown after a newer birth`() async throws {
        let site = try await Site.open()
        let logcat = try site.start("logcat")
        try await logcat.printedError("k1 is online")
        let backend = try await Backend(broker: site.broker.url)
        let birth = try AgentState(try await backend.message(on: "waypost/v1/k1/state"))
        var will = birth
        will.state = "offline"
        will.reason = .will
        will.epoch = birth.epoch - 1
        try await backend.publish(will.encoded(), to: "waypost/v1/k1/state", retain: true)

        // The broker keeps the will until the agent has said again that it is there.
        let table = try await site.run("agents")
        #expect(table.output.contains { $0.hasPrefix("k1 ") && $0.contains("online") })
        let agents = try await site.run("agents", "--json").output.map { try JSONValue(parsing: $0) }
        #expect(agents.map { $0["online"] } == [true])

        await backend.disconnect()
        #expect(try await site.agent.terminate() == 0)
        try await logcat.printedError("k1 is offline: shut down")
        logcat.send(signal: SIGTERM)
        let lines = try await logcat.ending().errorLines
        #expect(!lines.contains { $0.contains("its connection was lost") })
    }

    @Test func `ping shows health and ends with 0`() async throws {
        let site = try await Site.open()
        let ending = try await site.run("ping", "--agent", "k1")
        #expect(ending.status == 0)
        #expect(ending.output.first?.hasPrefix("k1: green, ") == true)
    }

    @Test(arguments: [(-7_260_000, "behind"), (7_260_000, "ahead of")])
    func `an agent whose clock is wrong can be looked at, and how wrong it is is shown`(
        _ offset: Int, _ side: String
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try AgentProcess(
            "k1", broker: broker.url, arguments: ["--demo"],
            environment: ["WAYPOST_CLOCK_OFFSET": String(offset)])
        try await agent.online()
        for verb in [["ping"], ["log", "V"], ["replay"]] {
            let ending = try await RunningCommand.run(verb + ["--agent", "k1", "--broker", broker.url])
            #expect(ending.status == 0, "\(verb): \(ending.errorLines)")
            guard verb == ["ping"] else { continue }
            #expect(
                ending.output.contains { $0.contains("the clock of k1 is 2 h \(side) this machine's") },
                "\(ending.output)")
        }
        #expect(try await agent.terminate() == 0)
    }
}
