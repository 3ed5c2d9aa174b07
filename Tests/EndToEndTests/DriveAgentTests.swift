import CommandSupport
import Foundation
import Glibc
import TestSupport
import Testing
import Waypost

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct DriveAgentTests {
    @Test func `open prints what was opened and ends with 0`() async throws {
        let site = try await Site.open()
        let ending = try await site.run(
            "open", "scheme://router/demo?id=2", "--agent", "k1", "--param", "name=AKyS")
        #expect(ending.status == 0)
        #expect(ending.output.first?.hasPrefix("ok: k1") == true)
        #expect(ending.output.contains { $0.contains("TheRouter_Example.TheRouterController") })
        #expect(ending.output.contains { $0.contains("\"name\":\"AKyS\"") })
        #expect(ending.errorLines.isEmpty)
    }

    @Test func `with --json the reply is one line, with the agent's name`() async throws {
        let site = try await Site.open()
        let ending = try await site.run("open", "scheme://router/user/42", "--agent", "k1", "--json")
        #expect(ending.status == 0)
        #expect(ending.output.count == 1)
        let reply = try JSONValue(parsing: try #require(ending.output.first))
        #expect(reply["agent"] == "k1")
        #expect(reply["status"] == "ok")
        #expect(reply["result"]?["route"] == "scheme://router/user/:id")
        #expect(reply["result"]?["value"]?["params"]?["id"] == "42")
    }

    @Test func `an unknown route ends with 1 and the nearest ones`() async throws {
        let site = try await Site.open()
        let ending = try await site.run("open", "scheme://router/nowhere", "--agent", "k1")
        #expect(ending.status == 1)
        let text = ending.output.joined(separator: "\n")
        #expect(text.hasPrefix("not sent: 404 NO_ROUTE: ") && text.contains("--no-check sends it anyway"))
        #expect(text.contains("scheme://router/nowhere"))
        #expect(text.contains("scheme://router/orders"))
    }

    @Test(arguments: [true, false])
    func `a bad broker in the list keeps no verb from the next one`(_ answersConnect: Bool) async throws {
        let site = try await Site.open()
        // It takes the CONNECT, and closes at what comes next, or never answers.
        let bad = try LoopbackServer { client in
            if !client.read().isEmpty, answersConnect { _ = client.send([0x20, 3, 0, 0, 0]) }
            _ = client.read()
        }
        defer { bad.end() }
        let ending = try await RunningCommand.run([
            "open", "scheme://router/demo", "--agent", "k1", "--broker", bad.url, "--broker", site.broker.url,
        ])
        #expect(ending.status == 0, "\(ending.errorLines)")
        let none = try await RunningCommand.run(
            ["agents", "--broker", bad.url, "--broker", "mqtt://127.0.0.1:1"])
        #expect(none.status == 4)
        #expect(none.errorLines.first?.contains("127.0.0.1:1 ") == true, "\(none.errorLines)")
    }

    @Test func `call prints the result, a mistake ends with 1`() async throws {
        let site = try await Site.open()
        let sum = try await site.run("call", "CalculatorService", "add", "--args", "[2,3]", "--agent", "k1")
        #expect(sum.status == 0)
        #expect(sum.output.contains("  result: 5"))
        let zero = try await site.run(
            "call", "CalculatorService", "divide(a:by:)", "--args", #"{"a":1,"by":0}"#, "--agent", "k1")
        #expect(zero.status == 1)
        #expect(zero.output.first?.contains("500 HANDLER_FAILED") == true)
        #expect(zero.output.first?.contains("division by zero") == true)
    }

    @Test func `what does not fit the agent's contract is not sent, unless it shall be`() async throws {
        let site = try await Site.open()
        func call(_ option: String) async throws -> RunningCommand.Ending {
            try await site.run("call", "CalculatorService", "add", "--args", "[2]", "--agent", "k1", option)
        }
        let held = try await call("--json")
        #expect(held.status == 1)
        let reply = try JSONValue(parsing: try #require(held.output.first))
        #expect(reply["name"] == "BAD_FIELD" && reply["sent"] == false && reply["agent"] == "k1")
        // It is no reply, and there is nothing that could be asked about.
        #expect(reply["status"] == nil && reply["type"] == nil && reply["id"] == nil)
        let sent = try await call("--no-check")
        #expect(sent.status == 1)
        #expect(sent.output.first?.contains("argument \"b\" of add(a:b:) is missing (Int)") == true)
        #expect(sent.output.first?.contains("not sent") == false)
    }

    @Test func `describe prints a route, a service, and the contract that check reads`() async throws {
        let site = try await Site.open()
        let route = try await site.run("describe", "scheme://router/user/7", "--agent", "k1")
        #expect(route.status == 0 && route.output.first == "scheme://router/user/:id")
        #expect(route.output.last == "  id  string; in the path; required")
        let service = try await site.run("describe", "CalculatorService", "--agent", "k1")
        #expect(service.output.contains("  add(a: Int, b: Int) -> Int, idempotent"))
        let unknown = try await site.run("describe", "CalculatorServise", "--agent", "k1")
        #expect(unknown.status == 1)
        #expect(unknown.errorLines.joined().contains("did you mean CalculatorService?"))
        let contract = try await site.run("describe", "--agent", "k1", "--json")
        let file = NSTemporaryDirectory() + "waypost-\(UUID().uuidString).json"
        let commands = file + "l"
        defer { for path in [file, commands] { try? FileManager.default.removeItem(atPath: path) } }
        try #require(contract.output.first).write(toFile: file, atomically: true, encoding: .utf8)
        try """
        {"id":"c-1","type":"open","url":"scheme://router/user/7"}
        {"id":"c-2","type":"call","service":"CalculatorService","method":"add","args":{"a":1,"c":2}}
        {"id":"c-3","type":"ping","trase":"x"}
        """.write(toFile: commands, atomically: true, encoding: .utf8)
        let check = try await site.run("check", "--routes", file, "--commands", commands)
        #expect(check.status == 1)
        #expect(
            check.output.first
                == "\(commands):2: badCommand: c-2: 422 BAD_FIELD: add(a:b:) has no argument \"c\"; did you mean \"a\"?"
        )
        #expect(check.output.contains { $0.contains(":3: doubtfulCommand: c-3: the field trase is unknown") })
        #expect(check.output.last?.hasSuffix("1 problem, 1 note") == true)
    }

    @Test func `navigate goes back and says what is shown`() async throws {
        let site = try await Site.open()
        for name in ["demo", "user/7"] {
            _ = try await site.run("open", "scheme://router/\(name)", "--agent", "k1")
        }
        let back = try await site.run("navigate", "back", "--agent", "k1")
        #expect(back.status == 0)
        #expect(
            back.output == [
                "ok: k1", "  tab 0 (in front): TheRouter_Example.TheRouterController", "  tab 1: nothing yet",
            ])
        let none = try await site.run("navigate", "dismiss", "--agent", "k1")
        #expect(none.status == 0 && none.output.first == "ok: k1, nothing changed")
        #expect(try await site.run("navigate", "showTab", "--tab", "9", "--agent", "k1").status == 1)
        let wrong = try await site.run("navigate", "bak", "--agent", "k1")
        #expect(wrong.status == 64 && wrong.errorLines.joined().contains("did you mean back?"))
    }

    @Test func `a redirect is applied, followed, restored`() async throws {
        let site = try await Site.open()
        let demo = "scheme://router/demo"
        let redirected = try await site.run("relocate", "--agent", "k1", "--from", demo, "--to", "\(demo)1")
        #expect(redirected.status == 0)
        #expect(redirected.output.first?.hasPrefix("applied: 1 entry active on k1") == true)
        let there = try await site.run("open", demo, "--agent", "k1")
        #expect(there.output.contains { $0.contains("TheRouterControllerA") })
        #expect(try await site.run("relocate", "--agent", "k1", "--reset", demo).status == 0)
        let back = try await site.run("open", demo, "--agent", "k1")
        #expect(back.output.contains { $0.contains("\"TheRouter_Example.TheRouterController\"") })
    }

    @Test func `an entry without a target is applied and named as inactive`() async throws {
        let site = try await Site.open()
        let ending = try await site.run(
            "relocate", "--agent", "k1", "--add", "scheme://router/x", "--class", "NoSuchScreen")
        #expect(ending.status == 0)
        #expect(ending.output.contains { $0.contains("inactive: entry 1 of patch") })
    }

    @Test func `a map from a file is applied, again in force, and a lower rev is refused with 1`()
        async throws
    {
        let site = try await Site.open()
        let entry =
            #"{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo2"}"#
        let file = try ScratchFile(#"{"id":"m","type":"map","rev":7,"entries":[\#(entry)]}"#)
        for _ in 1...2 {
            let ending = try await site.run("relocate", "--agent", "k1", "--file", file.path)
            #expect(ending.status == 0)
            #expect(ending.output.first?.contains("map rev 7") == true)
        }
        let lower = try await site.run(
            "relocate", "--agent", "k1", "--yes", "--allow-older", "--allow-refused", "--file", "-",
            input: #"{"type":"map","rev":6,"entries":[]}"#)
        #expect(lower.status == 1)
        #expect(lower.output.first?.contains("409 ROLLBACK") == true)
    }

    @Test func `a document that is none is not sent`() async throws {
        let site = try await Site.open()
        let ending = try await site.run(
            "relocate", "--agent", "k1", "--file", "-",
            input: #"[{"routerType":9,"path":"scheme://router/demo"}]"#)
        #expect(ending.status == 1)
        #expect(ending.errorLines.first?.contains("422 BAD_FIELD") == true)
    }

    @Test func `a running command is cancelled by its sender`() async throws {
        let site = try await Site.open(["--demo", "--handler-deadline", "300"])
        // It must listen before the command is sent, or it may miss that the command was accepted.
        let backend = try await Backend(broker: site.broker.url)
        let sleeper = try site.start(
            "call", "ClockService", "sleep", "--args", "[290000]", "--agent", "k1", "--id", "nap", "--wait",
            "300")
        try await backend.wait(for: "the sleeper's command") { seen in
            seen.contains { $0.topic.hasPrefix("waypost/v1/k1/reply/") && $0.text.contains("accepted") }
        }
        #expect(try await site.run("cancel", "nap", "--agent", "k1").status == 0)
        let ending = try await sleeper.ending()
        #expect(ending.status == 1)
        #expect(ending.output.first?.contains("499 CANCELED") == true)
        await backend.disconnect()
    }

    @Test func `a group is asked until each of its agents has answered, and those that did not are named`()
        async throws
    {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let other = try RunningAgent(
            "k2", broker: site.broker.url, arguments: ["--demo", "--group", "lobby"])
        try await other.online()
        let outside = try RunningAgent("k3", broker: site.broker.url, arguments: ["--demo"])
        try await outside.online()
        // It ends long before the time is over, and does not wait for who is not in the group.
        let ending = try await site.run("ping", "--group", "lobby", "--wait", "1h", "--json")
        #expect(ending.status == 0)
        let agents = try ending.output.map { try JSONValue(parsing: $0)["agent"]?.stringValue ?? "" }
        #expect(agents.sorted() == ["k1", "k2"])
        #expect(try await site.run("ping", "--group", "all", "--wait", "1h").output.count >= 3)

        #expect(try await other.terminate() == 0)
        let silent = try await site.run("ping", "--group", "lobby", "--json")
        #expect(silent.status == 3)
        #expect(silent.output.count == 2)
        #expect(
            try JSONValue(parsing: silent.output.last ?? "")["error"]?["detail"]
                == "1 of 2 agents of group lobby did not reply: k2 (shut down)")
        let file = site.agent.directory + "/map.json"
        try
            #"{"rev":1,"entries":[{"orginPath":"scheme://router/old","targetPath":"scheme://router/demo","routerType":1}]}"#
            .write(toFile: file, atomically: true, encoding: .utf8)
        let map = try await site.run("relocate", "--group", "lobby", "--file", file, "--wait", "10s")
        #expect(map.status == 3)
        #expect(map.errorLines.contains { $0.hasSuffix("did not reply within 10 s: k2 (shut down)") })
        let nobody = try await site.run("ping", "--group", "nosuch", "--wait", "60s")
        #expect(nobody.status == 3)
        #expect(
            nobody.errorLines.first?.contains("not sent: there is no group nosuch at this broker") == true)
        let near = try await site.run("ping", "--group", "loby", "--wait", "1h")
        #expect(near.errorLines.first?.contains("did you mean lobby?") == true)
        #expect(try await outside.terminate() == 0)
    }

    @Test func `no reply in time ends with 3, and says what is known of the agent`() async throws {
        let site = try await Site.open()
        // At once, whatever --wait says.
        for verb in [["open", "scheme://router/demo"], ["ping"], ["log", "V"], ["failures"], ["replay"]] {
            let unknown = try await RunningCommand.run(
                verb + ["--agent", "k9", "--wait", "1h"], environment: ["WAYPOST_BROKER": site.broker.url])
            #expect(unknown.status == 3 && unknown.output.isEmpty)
            #expect(
                unknown.errorLines.first?.contains("there is no agent k9 at this broker; did you mean k1?")
                    == true, "\(unknown.errorLines)")
        }
        #expect(try await site.agent.terminate() == 0)
        let gone = try await site.run("open", "scheme://router/demo", "--agent", "k1", "--wait", "0.5")
        #expect(gone.status == 3)
        #expect(gone.errorLines.first?.contains("it is offline: it was shut down") == true)
        // Without --wait it is not waited for, unless ten seconds pass before that is known.
        for atOnce in [
            try await site.run("open", "scheme://router/demo", "--agent", "k1"),
            try await site.run("relocate", "--reset", "scheme://a", "--agent", "k1"),
        ] {
            #expect(atOnce.status == 3)
            let line = try #require(
                atOnce.errorLines.first { $0.contains("no reply from k1") && $0.contains("it is offline") },
                "\(atOnce)")
            #expect(line.contains("to wait for it: --wait 1m") || line.contains("within 10 s"))
        }
    }
}
