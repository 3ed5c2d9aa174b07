import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// Who is there and what is in force, without trust in what a broker retains.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct ForgetfulBrokerTests {
    @Test func `agents are found by asking, with nothing retained`() async throws {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        for topic in ["state", "health", "map/applied"] {
            let backend = try await Backend(broker: site.broker.url)
            try await backend.publish("", to: "waypost/v1/k1/\(topic)", retain: true)
            await backend.disconnect()
        }
        let ending = try await site.run("agents", "--ask", "--spread", "200ms", "--wait", "60s", "--json")
        #expect(ending.status == 0, "\(ending)")
        let agents = try ending.output.map { try JSONValue(parsing: $0) }
        #expect(agents.map { $0["agent"] } == ["k1"])
        #expect(agents.first?["online"] == true && agents.first?["health"]?["groups"] == ["lobby"])
        let named = try await site.run("agents", "--ask", "--spread", "100ms", "k9")
        #expect(named.status == 3, "\(named)")
        #expect(try await site.run("agents", "--ask", "--watch").status == 64)
        #expect(try await site.run("agents", "--spread", "1s").status == 64)
    }

    @Test func `an agent that answers late is waited for as long as was asked for`() async throws {
        let site = try await Site.openProcess()
        try await site.agent.freeze()
        let asking = try site.start("agents", "--ask", "--spread", "10ms", "--wait", "5m", "--names")
        try await site.broker.waitForLog("the question on its way") { lines in
            lines.contains { $0.contains("PUBLISH from waypost-") && $0.contains("@all/cmd/") }
        }
        // Longer than the 3 s that an answer has unless another time is asked for.
        try await Task.sleep(for: .seconds(5))
        site.agent.thaw()
        let ending = try await asking.ending()
        #expect(ending.status == 0 && ending.output == ["k1"], "\(ending)")
    }

    @Test(arguments: [
        ("agents", "reading what the broker keeps of the agents …"), ("failures", "asking the agents …"),
        (
            "map diff --group lobby --file - <<E\n{\"type\":\"map\",\"id\":\"m\",\"entries\":[]}\nE",
            "reading what the broker keeps"
        ),
        ("doctor", "reading what the broker keeps"),
    ])
    func `a terminal says what a verb does that takes its time`(_ verb: String, _ words: String) async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        broker.pause()
        let terminal = try TerminalSession(
            #""$WAYPOST" \#(verb)"#, rows: 24, columns: 80, environment: ["WAYPOST_BROKER": broker.url])
        try await terminal.shows(words)
        broker.resume()
        _ = try await terminal.status()
    }

    @Test func `a terminal shows what takes some seconds, and wipes it`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let terminal = try TerminalSession(
            #""$WAYPOST" agents --ask"#, rows: 24, columns: 80, environment: ["WAYPOST_BROKER": broker.url])
        try await terminal.shows("asking the agents …")
        try await terminal.shows("\r\u{1B}[Kno agent answered")
        #expect(try await terminal.status() == 0)
    }

    @Test func `for a broker that can't do better, what is for groups comes at QoS 0`() async throws {
        let site = try await Site.open(["--demo", "--group", "lobby", "--group-qos", "0"])
        for line in ["@lobby/cmd/+ (QoS 0)", "@all/map (QoS 0)", "k1/cmd/+ (QoS 1)"] {
            try await site.broker.waitForLog(containing: "waypost/v1/" + line)
        }
        let ending = try await site.run("open", "scheme://router/demo", "--group", "lobby", "--wait", "30")
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `a simulated fleet answers, too, each once`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let environment = ["WAYPOST_BROKER": broker.url]
        let none = try await RunningCommand.run(
            ["agents", "--ask", "--spread", "10ms"], environment: environment)
        #expect(none.output.count == 1 && none.output[0].hasPrefix("no agent answered"), "\(none)")
        // It was asked: that brokers may keep nothing is no news.
        #expect(none.errorLines.isEmpty, "\(none)")
        let simulation = try RunningCommand(
            ["simulate", "--agents", "200", "--problems", "0%"], environment: environment)
        try await simulation.printed("seed")
        let ending = try await RunningCommand.run(
            ["agents", "--ask", "--spread", "500ms", "--wait", "10m", "--names"], environment: environment)
        #expect(ending.output.count == 200, "\(ending.output.count)")
    }

    @Test func `a keeper brings a map back that the broker forgot`() async throws {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let folder = NSTemporaryDirectory() + "waypost-wanted-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let map =
            #"{"type":"map","rev":7,"entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}]}"#
        try Data(map.utf8).write(to: URL(fileURLWithPath: folder + "/@lobby.json"))
        let keeper = try site.start("keeper", "--wanted", folder)
        try await keeper.printed("published waypost/v1/@lobby/map")
        try await eventually("the map in force") {
            try await site.run("map", "--agent", "k1", "--json").output.contains { $0.contains("\"rev\":7") }
        }
        // The agent has it on its disk; what lacks it is the broker.
        try await site.broker.restart()
        try await keeper.printed("published waypost/v1/@lobby/map", times: 2)
        try await keeper.printedError("connected again")
        let newer = try ScratchFile(map.replacingOccurrences(of: ":7,", with: ":8,"), name: "8.json")
        #expect(try await site.run("relocate", "--group", "lobby", "--file", newer.path, "--yes").status == 0)
        try await keeper.printedError("@lobby has rev 8 by now")
        keeper.send(signal: SIGTERM)
        #expect(try await keeper.ending().status == 0)
        #expect(try await site.run("keeper", "--wanted", "/nonexistent").status == 64)
        try FileManager.default.removeItem(atPath: folder + "/@lobby.json")
        let empty = try await site.run("keeper", "--wanted", folder)
        #expect(empty.status == 64 && empty.errorLines[0].contains("@lobby.json"), "\(empty)")
        for (name, text) in [("@lobby.json", "{"), ("@lobby.json", "[]"), ("a+b.json", map)] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            let broken = try await site.run("keeper", "--wanted", folder)
            #expect(broken.status != 0 && broken.errorLines[0].contains(name), "\(broken)")
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }

    @Test func `what the broker keeps is listed, compared with what the agent says, and removed`()
        async throws
    {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        try await eventually("all documents") {
            try await site.run("retained", "list", "--agent", "k1", "--json").output.count >= 5
        }
        let diff = try await site.run("retained", "diff", "--agent", "k1")
        #expect(diff.status == 0 && diff.output == ["the broker keeps what k1 says"], "\(diff)")
        let backend = try await Backend(broker: site.broker.url)
        try await backend.publish(
            #"{"state":"online","epoch":1,"boot":"b","why":"birth","agent":"k7"}"#,
            to: "waypost/v1/k7/state", retain: true)
        await backend.disconnect()
        let other = try await site.run("retained", "diff", "--agent", "k7", "--wait", "1s")
        #expect(other.status == 1, "\(other)")
        #expect(other.output == ["the broker says that it is online, and it does not answer"])
        let unknown = try await site.run("retained", "diff", "--agent", "k8")
        #expect(unknown.status == 3, "\(unknown)")
        try await site.retire("k9")
        let offline = try await site.run("retained", "diff", "--agent", "k9")
        #expect(offline.status == 0 && offline.output == ["k9 is offline, as the broker says"], "\(offline)")
        #expect(try await site.run("retained", "clear", "--agent", "k9").status == 64)
        #expect(try await site.run("retained", "clear", "--agent", "k9", "--yes").status == 0)
        let left = try await site.run("retained", "list", "--agent", "k9")
        #expect(left.output == ["the broker keeps nothing of k9"], "\(left)")
    }

    @Test func `entries for a group whose map is signed need a key`() async throws {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let key = NSTemporaryDirectory() + "waypost-\(UUID().uuidString).pem"
        _ = try await Tool.run("openssl", ["genpkey", "-algorithm", "ed25519", "-out", key])
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        let map = try ScratchFile(#"{"type":"map","rev":41,"entries":[]}"#, name: "map.json")
        let sent = try await site.run(
            "relocate", "--group", "lobby", "--file", map.path, "--sign-key", key, "--yes")
        #expect(sent.status == 0, "\(sent)")
        let entry = [
            "relocate", "--group", "lobby", "--from", "scheme://cart", "--to", "scheme://router/orders",
        ]
        let environment = ["WAYPOST_BROKER": site.broker.url]
        let plain = try await RunningCommand.run(entry + ["--yes"], environment: environment)
        #expect(plain.status == 1 && plain.errorLines[0].contains("--sign-key"), "\(plain)")
        let signed = try await RunningCommand.run(
            entry + ["--yes", "--sign-key", key], environment: environment)
        #expect(signed.status == 0, "\(signed)")
        let resolved = try await site.run("resolve", "scheme://cart", "--agent", "k1", "--json")
        #expect(resolved.output.contains { $0.contains("scheme://router/orders") }, "\(resolved)")
    }

    @Test func `entries go to a group as a whole map over the one in force, with the next revision`()
        async throws
    {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let map = try ScratchFile(
            #"{"type":"map","rev":41,"entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}]}"#,
            name: "map.json")
        #expect(try await site.run("relocate", "--group", "lobby", "--file", map.path).status == 0)
        let dry = try await site.run(
            "relocate", "--group", "lobby", "--from", "scheme://cart", "--to", "scheme://router/orders",
            "--dry-run")
        #expect(dry.status == 0 && dry.output.contains { $0.contains("scheme://cart") }, "\(dry)")
        let asked = try await site.run(
            "relocate", "--group", "lobby", "--from", "scheme://cart", "--to", "scheme://router/orders")
        #expect(asked.status == 1 && asked.errorLines.contains { $0.contains("rev 41") }, "\(asked)")
        let sent = try await site.run(
            "relocate", "--group", "lobby", "--from", "scheme://cart", "--to", "scheme://router/orders",
            "--yes")
        #expect(sent.status == 0, "\(sent)")
        // What is for a patch of one agent would be ignored.
        let based = try await site.run(
            "relocate", "--group", "lobby", "--from", "scheme://cart", "--to", "scheme://router/orders",
            "--base", "3", "--rev", "99")
        #expect(based.status == 64, "\(based)")
        let layers = try await site.run("map", "--agent", "k1", "--json")
        #expect(
            layers.output.contains { $0.contains("\"rev\":42") && $0.contains("scheme://cart") }, "\(layers)")
        for (url, route) in [("scheme://router/demo", "demo1"), ("scheme://cart", "orders")] {
            let resolved = try await site.run("resolve", url, "--agent", "k1", "--json")
            #expect(resolved.output.contains { $0.contains("scheme://router/\(route)") }, "\(resolved)")
        }
    }
}
