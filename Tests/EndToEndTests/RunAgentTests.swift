import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct RunAgentTests {
    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal ends an agent gracefully: status 0, and a goodbye at the broker`(_ signal: Int32)
        async throws
    {
        let site = try await Site.openProcess()
        kill(site.agent.processID, signal)
        #expect(try await site.agent.ended() == 0)
        let backend = try await Backend(broker: site.broker.url)
        let state = try await backend.message(on: "waypost/v1/k1/state")
        #expect(state["state"] == "offline")
        #expect(state["why"] == "shutdown")
        await backend.disconnect()
    }

    @Test func `of two agents of one name, the one that stays is back soon after the other has gone`()
        async throws
    {
        let site = try await Site.open()
        let other = try AgentProcess("k1", broker: site.broker.url)
        // Each takes the session from the other, until one of them says why.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for agent in [site.agent, other] as [any ObservedAgent] {
                group.addTask { try await agent.printed("give each client its own client id") }
            }
            try await group.next()
            group.cancelAll()
        }
        try await other.kill()
        #expect(try await site.run("ping", "--agent", "k1", "--wait", "2m").status == 0)
        #expect(try await site.agent.terminate() == 0)
    }

    @Test func `an option goes before the environment, and that before the file`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let state = broker.directory + "/state"
        let file = try ScratchFile(
            """
            agent: from-file
            broker: \(broker.url)
            root: from/file
            group: [a, b]
            demo: true
            state: \(state)
            """, name: "agent.yaml")
        let agent = try RunningCommand(
            ["agent", "--config", file.path, "--root", "from/option"],
            environment: ["WAYPOST_AGENT": "from-environment", "WAYPOST_ROOT": "from/environment"])
        try await agent.printedError("agent from-environment online at \(broker.url)")
        let ping = try await RunningCommand.run(
            ["ping", "--group", "b", "--root", "from/option", "--broker", broker.url, "--wait", "60s"])
        #expect(ping.output.first?.hasPrefix("from-environment: green") == true)
        agent.send(signal: SIGTERM)
        #expect(try await agent.ending().status == 0)
    }

    @Test func `a JSON file does as well`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let file = try ScratchFile(
            #"{"agent":"k1","broker":["\#(broker.url)"],"state":"\#(broker.directory)/state","demo":true}"#,
            name: "agent.json")
        let agent = try RunningCommand(["agent"], environment: ["WAYPOST_CONFIG": file.path])
        try await agent.printedError("agent k1 online")
        agent.send(signal: SIGTERM)
        #expect(try await agent.ending().status == 0)
    }

    @Test func `with --json the agent's own lines are JSON`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try RunningAgent("k1", broker: broker.url, arguments: ["--demo", "--json"])
        try await agent.printed(#""msg":"agent k1 online at"#)
        #expect(try await agent.terminate() == 0)
        let refused = try await RunningCommand.run(["agent", "--agent", "k/1", "--json"])
        #expect(refused.status == 64)
        #expect(try JSONValue(parsing: try #require(refused.output.first))["error"]?["exit"] == 64)
    }

    @Test func `files that others can write are refused`() async throws {
        let loose = try ScratchFile("agent: k1\n", name: "agent.yaml", mode: 0o666)
        let configured = try await RunningCommand.run(["agent", "--config", loose.path])
        #expect(configured.status == 64)
        #expect(configured.errorLines.first?.contains("can be written by others") == true)
        let password = try ScratchFile("secret\n", name: "password", mode: 0o620)
        let signedIn = try await RunningCommand.run(
            ["agents", "--username", "ops", "--password-file", password.path])
        #expect(signedIn.status == 64)
        #expect(signedIn.errorLines.first?.contains("can be written by others") == true)
        #expect(signedIn.errorLines.allSatisfy { !$0.contains("secret") })
    }

    @Test func `secrets that everybody can read are refused, with what to do`() async throws {
        let password = try ScratchFile("secret\n", name: "password", mode: 0o644)
        let key = try ScratchFile("-----BEGIN PRIVATE KEY-----\n", name: "key", mode: 0o604)
        let certificate = try ScratchFile("-----BEGIN CERTIFICATE-----\n", name: "certificate", mode: 0o644)
        let whole = try ScratchFile("username: ops\npassword: secret\n", name: "ops.yaml", mode: 0o644)
        let attempts: [(arguments: [String], file: String)] = [
            (["--username", "ops", "--password-file", password.path], password.path),
            (
                [
                    "--broker", "mqtts://localhost", "--cert-file", certificate.path, "--key-file", key.path,
                ], key.path
            ),
            (["--config", whole.path], whole.path),
        ]
        for (arguments, file) in attempts {
            let ending = try await RunningCommand.run(["agents"] + arguments)
            #expect(ending.status == 64)
            let error = ending.errorLines.joined()
            #expect(error.contains("can be read by everybody"), "\(error)")
            #expect(error.contains("chmod o-rwx \(file)"))
            #expect(!error.contains("secret"))
        }
    }

    @Test(
        arguments: [
            (
                "agent: k1\n\nbrokr: mqtt://127.0.0.1\n", "agent.yaml",
                #", line 3: there is no setting "brokr"; did you mean broker?"#
            ),
            (
                #"{"agent":"k1","paswordFile":"x"}"#, "agent.json",
                #": there is no setting "paswordFile"; did you mean password-file?"#
            ),
            ("broker:\n  url: mqtt://127.0.0.1\n", "agent.yaml", ", line 2: url is below another name"),
            (#"{"broker":{"url":"x"}}"#, "agent.json", "url is below another name"),
            ("tls-verify: false\n", "agent.yaml", #"there is no setting "tls-verify""#),
        ])
    func `a setting that does not exist is named, with the nearest that does`(
        _ text: String, _ name: String, _ error: String
    ) async throws {
        let file = try ScratchFile(text, name: name)
        let ending = try await RunningCommand.run(["agent", "--config", file.path])
        #expect(ending.status == 64)
        #expect(ending.errorLines.joined().contains(error), "\(ending.errorLines)")
    }

    @Test func `stand-in routes record their openings`() async throws {
        let file = try ScratchFile(
            #"[{"path":"app://shop/:item","class":"ShopScreen","priority":3},{"path":"app://cart","class":"CartScreen"}]"#
        )
        let site = try await Site.open(["--routes", file.path])
        for count in 1...2 {
            let ending = try await site.run("open", "app://shop/tea", "--agent", "k1", "--json")
            #expect(ending.status == 0)
            let value = try JSONValue(parsing: try #require(ending.output.first))["result"]?["value"]
            #expect(value?["class"] == "ShopScreen")
            #expect(value?["opened"] == .int(Int64(count)))
            #expect(value?["params"]?["item"] == "tea")
        }
    }

    @Test func `the stand-in route of kind web takes web URLs`() async throws {
        let file = try ScratchFile(
            #"[{"path":"app://web","class":"WebScreen","priority":0,"kind":"web"}]"#)
        let site = try await Site.open(["--routes", file.path])
        let ending = try await site.run("open", "https://example.com/a", "--agent", "k1", "--json")
        #expect(ending.status == 0)
        let result = try JSONValue(parsing: try #require(ending.output.first))["result"]
        #expect(result?["value"]?["class"] == "WebScreen")
        #expect(result?["value"]?["params"]?["url"] == "https://example.com/a")
    }

    @Test func `a routes file that is none is refused with its name`() async throws {
        let file = try ScratchFile(#"[{"class":"ShopScreen"}]"#)
        let state = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: state) }
        let ending = try await RunningCommand.run(
            ["agent", "--agent", "k1", "--routes", file.path, "--state", state])
        #expect(ending.status == 64)
        #expect(ending.errorLines.last?.contains("\(file.path):1:2: path is missing") == true)
    }

    @Test func `two agents do not share a state directory`() async throws {
        let site = try await Site.open()
        let second = try await RunningCommand.run(
            [
                "agent", "--agent", "k2", "--demo", "--broker", site.broker.url, "--state",
                site.agent.directory,
            ])
        #expect(second.status == 1)
        #expect(second.errorLines.last?.contains(site.agent.directory) == true)
    }

    @Test func `while the broker is away it says so once, and comes back by itself`() async throws {
        let site = try await Site.open()
        try await site.broker.stop()
        try await site.agent.printed("warning:")
        try await site.broker.start()
        let backend = try await Backend(broker: site.broker.url)
        _ = try await backend.message(on: "waypost/v1/k1/state") { $0["state"] == "online" }
        #expect(try await site.run("ping", "--agent", "k1").status == 0)
        await backend.disconnect()
    }
}
