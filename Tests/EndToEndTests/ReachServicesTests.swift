import CommandSupport
import TestSupport
import Testing
import Waypost

/// Maps that switch off, answer, replace and gate, from the command line against a real broker and a real agent.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct ReachServicesTests {
    private func json(_ ending: RunningCommand.Ending) throws -> JSONValue {
        try JSONValue(parsing: try #require(ending.output.first, "\(ending)"))
    }

    private func contains(_ ending: RunningCommand.Ending, _ parts: String...) -> Bool {
        ending.output.contains { line in parts.allSatisfy(line.contains) }
    }

    private static let method = ["--service", "CalculatorService", "--method", "add"]

    @Test func `a method is switched off, answered, and back after an undo`() async throws {
        let site = try await Site.open()
        func relocate(_ words: String...) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(
                ["relocate", "--agent", "k1"] + words + ["--yes"],
                environment: ["WAYPOST_BROKER": site.broker.url])
        }
        func call() async throws -> RunningCommand.Ending {
            try await site.run(
                "call", "CalculatorService", "add", "--args", "[2,3]", "--agent", "k1", "--json")
        }
        #expect(try json(await call())["result"] == 5)
        let dry = try await site.run(
            "relocate", "--agent", "k1", "--service", "CalculatorService", "--method", "add", "--off",
            "--dry-run")
        #expect(dry.status == 0 && contains(dry, "CalculatorService.add", "503 SWITCHED_OFF"), "\(dry)")
        let off = try await relocate(
            "--service", "CalculatorService", "--method", "add", "--off", "--reason", "it adds wrongly")
        #expect(off.status == 0, "\(off)")
        let refused = try json(await call())
        #expect(refused["code"] == 503 && refused["name"] == "SWITCHED_OFF", "\(refused.text)")
        #expect(refused["detail"] == "it adds wrongly" && refused["status"] == "rejected", "\(refused.text)")
        let url = try await site.run(
            "open", "scheme://services?protocol=CalculatorService&method=add&a=1&b=2", "--agent", "k1",
            "--json",
            "--no-check")
        #expect(try json(url)["name"] == "SWITCHED_OFF", "\(url)")
        let found = try await site.run("resolve", "--call", "CalculatorService", "add", "--agent", "k1")
        #expect(found.status == 1 && contains(found, "503 SWITCHED_OFF", "it adds wrongly"), "\(found)")
        #expect(contains(found, "rule", "entry 1 of patch"), "\(found)")
        let map = try await site.run("map", "--agent", "k1")
        #expect(contains(map, "active", "off CalculatorService.add: it adds wrongly"), "\(map)")
        let answer = try await relocate("--service", "CalculatorService", "--method", "add", "--answer", "7")
        #expect(answer.status == 0, "\(answer)")
        #expect(try json(await call())["result"] == 7)
        let fixed = try await site.run("resolve", "--call", "CalculatorService", "add", "--agent", "k1")
        #expect(fixed.status == 0 && contains(fixed, "answers", "7"), "\(fixed)")
        let undo = try await site.run("map", "undo", "--agent", "k1", "--yes")
        #expect(undo.status == 0, "\(undo)")
        #expect(try json(await call())["name"] == "SWITCHED_OFF")
    }

    @Test func `pages are gated, refused and switched off, and what does not fit needs an option`()
        async throws
    {
        let site = try await Site.open()
        func relocate(_ words: [String]) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(
                ["relocate", "--agent", "k1"] + words, environment: ["WAYPOST_BROKER": site.broker.url])
        }
        func open() async throws -> JSONValue {
            try json(await site.run("open", "scheme://router/demo", "--agent", "k1", "--json"))
        }
        let contract = try json(await site.run("describe", "--agent", "k1", "--json", "--wait", "5m"))
        #expect(contract["gates"] == ["login"], "\(contract.text.prefix(200))")
        let pages = ["--pages", "scheme://router/**", "--except", "scheme://router/login"]
        #expect(try await relocate(pages + ["--gate", "login"]).status == 0)
        let held = try await open()
        #expect(
            held["name"] == "INTERCEPTED" && held["detail"]?.stringValue?.contains("login") == true,
            "\(held.text)")
        let found = try await site.run("resolve", "scheme://router/demo", "--agent", "k1")
        #expect(contains(found, "asks", "login"), "\(found)")
        let map = try await site.run("map", "--agent", "k1", "--at", "scheme://router/demo")
        #expect(contains(map, "→ 1  active", "gate scheme://router/** through login"), "\(map)")
        _ = try await site.run("open", "scheme://router/login?user=eva", "--agent", "k1")
        #expect(try await open()["status"] == "ok")
        #expect(try await relocate(pages + ["--refuse", "--reason", "closed today"]).status == 0)
        #expect(try await open()["detail"]?.stringValue?.hasSuffix("closed today") == true)
        #expect(try await relocate(pages + ["--off", "--code", "1012=CLOSED"]).status == 0)
        let off = try await open()
        #expect(off["code"] == 1012 && off["name"] == "CLOSED" && off["status"] == "rejected", "\(off.text)")
        let unfit = try await relocate(Self.method + ["--by", "divide"])
        #expect(unfit.status != 0, "\(unfit)")
        #expect((unfit.output + unfit.errorLines).contains { $0.contains("has another shape") }, "\(unfit)")
        let service = try await relocate(["--delete", "scheme://services?protocol=P&method=m"])
        #expect(service.status != 0, "\(service)")
        #expect(
            (service.output + service.errorLines).contains {
                $0.contains(#"{"routerType":"off","service":"P","method":"m"}"#)
            }, "\(service)")
    }

    @Test func `an agent that does not know a kind is named before anything is sent`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        for (topic, document) in [
            (
                "state",
                #"{"state":"online","epoch":1,"boot":"b","why":"birth","agent":"k9","version":"0.1.0","mqtt":5}"#
            ),
            ("map/applied", #"{"layers":[],"entries":0,"inactive":[],"refused":null}"#), ("routes", "[]"),
            ("contract", #"{"router":{},"services":[],"redirects":[]}"#),
        ] {
            try await backend.publish(document, to: "waypost/v1/k9/\(topic)", retain: true)
        }
        for options in [["--dry-run"], ["--yes"]] {
            let ending = try await RunningCommand.run(
                ["relocate", "--agent", "k9", "--service", "S", "--off"] + options,
                environment: ["WAYPOST_BROKER": broker.url])
            let lines = ending.output + ending.errorLines
            #expect(lines.contains { $0.contains("k9") && $0.contains("UNKNOWN_KIND") }, "\(ending)")
            #expect(ending.status != 0 || options == ["--dry-run"], "\(ending)")
        }
        #expect(!backend.seen.contains { $0.topic.hasSuffix("/map/patch") })
        await backend.disconnect()
    }

    /// Words that do not fit, and what is said.
    static let wrong: [([String], String)] = [
        (["--off"], "use exactly one of"),
        (["--pages", "a://b"], "--pages needs exactly one of --off, --on, --gate, --refuse"),
        (["--pages", "a://b", "--answer", "1"], "--pages needs exactly one of"),
        (["--service", "S", "--gate", "g"], "--service needs exactly one of --off, --on"),
        (method + ["--refuse"], "--service with --method needs exactly one of"),
        (["--pages", "a://b", "--refuse"], "--refuse needs --reason"),
        (["--delete", "a://b", "--reason", "r"], "--reason and --code need --off"),
        (method + ["--off", "--code", "12"], "--code must be a number and a name"),
        (method + ["--off", "--code", "12=NO"], "code must be 1000 to 9999"),
        (method + ["--answer", "{"], "--answer"),
    ]

    @Test(arguments: wrong)
    func `wrong words are refused with one sentence`(_ words: [String], _ detail: String) async throws {
        let ending = try await RunningCommand.run(["relocate", "--agent", "k1"] + words, environment: [:])
        #expect(ending.status == 64 || ending.status == 1, "\(ending)")
        #expect(ending.errorLines.contains { $0.contains(detail) }, "\(ending)")
    }
}
