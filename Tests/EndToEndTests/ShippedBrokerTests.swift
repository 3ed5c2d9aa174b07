import CommandSupport
import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost

/// The files under `scripts/broker` and `scripts/docker`, with a real mosquitto.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct ShippedBrokerTests {
    /// Signs in as `name` with another's client id and a clean start, and leaves again.
    private func signIn(_ site: ShippedBroker, as name: String, clientID: String) async throws {
        var configuration = MQTTLinkConfiguration.oneShot(
            brokers: [try BrokerURL(site.broker.url)], clientID: clientID)
        configuration.credentials = Credentials(username: name, password: try site.password(name))
        let session = try await MQTTSession.connect(configuration, within: .seconds(60))
        await session.disconnect()
    }

    /// Has the demo's ledger take a line, which it does not do twice.
    private func append(_ site: ShippedBroker, _ line: String, wait: String) async throws {
        let ending = try await RunningCommand.run(
            ["call", "LedgerService", "append", "--args", "[\"\(line)\"]", "--agent", "k1"]
                + ["--wait", wait, "--expires", "10m"] + site.signIn("ops"))
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `a user that signs in with an agent's client id neither ends its session nor its queue`()
        async throws
    {
        let site = try await ShippedBroker(["--agent", "k1", "--sender", "ops", "--watcher", "watch"])
        let agent = try RunningAgent("k1", broker: site.broker.url, arguments: ["--demo"] + site.signIn("k1"))
        try await agent.online()
        for name in ["watch", "watch.2"] { try await signIn(site, as: name, clientID: "k1") }
        try await append(site, "one", wait: "60s")
        #expect(
            !agent.lines.contains { $0.contains("connected to") && $0.contains("next try") }, "\(agent.lines)"
        )
        // Nor while it is away, with commands that wait for it.
        #expect(try await agent.terminate() == 0)
        try await append(site, "two", wait: "0")
        try await signIn(site, as: "watch", clientID: "k1")
        let next = try RunningAgent(
            "k1", broker: site.broker.url, directory: agent.directory,
            arguments: ["--demo"] + site.signIn("k1"))
        try await next.online()
        try await append(site, "three", wait: "60s")
        #expect(next.ledger == ["one", "two", "three"])
        #expect(try await next.terminate() == 0)
    }

    @Test func `the agent's own alarm about its disk, its health and the doctor leave its session alone`()
        async throws
    {
        let site = try await ShippedBroker(["--agent", "k1", "--sender", "ops", "--watcher", "watch"])
        let agent = try RunningAgent("k1", broker: site.broker.url, arguments: ["--demo"] + site.signIn("k1"))
        try await agent.online()
        let logcat = try RunningCommand(["logcat", "--failures", "--as", "watch"] + site.signIn("watch"))
        try await logcat.printedError("k1 is online")
        let local = ["--local", "--agent", "k1", "--state", agent.directory]
        #expect(try await RunningCommand.run(["doctor"] + local + site.signIn("k1")).status == 0)
        #expect(try await RunningCommand.run(["health"] + local).status == 0)
        #expect(!agent.lines.contains { $0.contains("next try") }, "\(agent.lines)")

        let elsewhere = agent.directory + "-elsewhere"
        try FileManager.default.moveItem(atPath: agent.directory, toPath: elsewhere)
        try await append(site, "away", wait: "0")
        try await logcat.printed("503 DISK")
        try FileManager.default.moveItem(atPath: elsewhere, toPath: agent.directory)
        try await append(site, "back", wait: "60s")
        #expect(agent.ledger == ["away", "back"])
        #expect(!agent.lines.contains { $0.contains("took over") }, "\(agent.lines)")
        logcat.send(signal: SIGTERM)
        #expect(try await logcat.ending().status == 0)
        #expect(try await agent.terminate() == 0)
    }

    @Test func `with accounts, programs of one person run side by side, and none ends another's connection`()
        async throws
    {
        let site = try await ShippedBroker(["--agent", "k1", "--sender", "ops"])
        let agent = try RunningAgent("k1", broker: site.broker.url, arguments: ["--demo"] + site.signIn("k1"))
        try await agent.online()
        let folder = site.broker.directory
        let many = site.signIn("ops") + ["--accounts", "3"]
        func start(_ words: String...) throws -> RunningCommand {
            try RunningCommand(words + many, environment: ["XDG_RUNTIME_DIR": folder])
        }
        let logcat = try start("logcat")
        try await logcat.printedError("k1 is online")
        let watch = try start("watch")
        try await watch.printedError("k1 is online")
        // The third sends its commands under the person's name; both others see what came of it.
        let open = try await start("open", "scheme://router/demo", "--agent", "k1").ending()
        #expect(open.status == 0, "\(open)")
        try await logcat.printed("scheme://router/demo")
        try await watch.printed("scheme://router/demo")
        // What finds faults makes none.
        let doctor = try await start("doctor").ending()
        #expect(
            doctor.output.contains { $0.contains("3 of yours can be in use at a time (ops.3 is)") },
            "\(doctor)")
        let third = try start("logcat")
        try await third.printedError("k1 is online")
        let fourth = try await start("agents").ending()
        #expect(fourth.status == 1)
        #expect(
            fourth.errorLines.last?.contains("all 3 user names of ops at the broker are in use") == true,
            "\(fourth)")
        for command in [logcat, watch, third] {
            command.send(signal: SIGTERM)
            let ending = try await command.ending()
            #expect(ending.status == 0, "\(ending)")
            #expect(
                !ending.errorLines.contains { $0.contains("another program") || $0.contains("connection") })
        }
        #expect(try await start("agents").ending().status == 0)
        #expect(!agent.lines.contains { $0.contains("took over") }, "\(agent.lines)")
        #expect(try await agent.terminate() == 0)
    }

    @Test func `the settings that make-certs writes for a person are those of a profile`() async throws {
        let directory = NSTemporaryDirectory() + "waypost-secrets-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await ShippedBroker.makeCertificates(directory, ["--agent", "k1", "--sender", "ops"])
        let text = try String(contentsOfFile: directory + "/clients/ops/waypost.yaml", encoding: .utf8)
        #expect(text.contains("accounts: 8") && text.contains("broker: mqtts://127.0.0.1:8883"), "\(text)")
        #expect(!FileManager.default.fileExists(atPath: directory + "/clients/k1/waypost.yaml"))
        // Its certificates and password are read before a connection is tried.
        let ending = try await RunningCommand.run(
            [
                "agents", "--config", directory + "/clients/ops/waypost.yaml", "--broker",
                "mqtts://127.0.0.1:\(try FreePort.find())",
            ], environment: ["XDG_RUNTIME_DIR": directory])
        #expect(ending.status == 4, "\(ending)")
    }

    @Test func `programs of one name end each other's connections, and say what it may be`() async throws {
        let site = try await ShippedBroker(["--agent", "k1", "--sender", "ops"])
        let agent = try RunningAgent("k1", broker: site.broker.url, arguments: site.signIn("k1"))
        let arguments = ["logcat"] + site.signIn("ops")
        let first = try RunningCommand(arguments)
        // Now it has all its subscriptions: one whose connection ends before that exits.
        try await first.printedError("k1 is online")
        // One whose connection ends before it has subscribed says so and exits: its user starts it again.
        let others = Task {
            while !Task.isCancelled {
                let other = try CommandProcess(arguments)
                await withTaskCancellationHandler {
                    _ = try? await other.ending()
                } onCancel: {
                    other.send(signal: SIGKILL)
                }
            }
        }
        try await first.printedError("another program signed in as ops")
        others.cancel()
        first.send(signal: SIGTERM)
        let ending = try await first.ending()
        #expect(ending.status == 0, "\(ending)")
        _ = await others.result
        let doctor = try await RunningCommand.run(["doctor"] + site.signIn("ops"))
        #expect(
            doctor.output.contains {
                $0.contains("a second program that signs in as ops ends the first one's")
            },
            "\(doctor)")
        #expect(try await agent.terminate() == 0)
    }

    @Test func `what a broker with the shipped configuration has acknowledged survives its crash`()
        async throws
    {
        let site = try await ShippedBroker(["--agent", "k1", "--sender", "ops", "--release", "ci"])
        let agent = try RunningAgent("k1", broker: site.broker.url, arguments: ["--demo"] + site.signIn("k1"))
        try await agent.online()
        #expect(try await agent.terminate() == 0)
        let map = try ScratchFile(#"{"id":"m","type":"map","rev":1,"entries":[]}"#, name: "map.json")
        let sent = try await RunningCommand.run(
            ["relocate", "--agent", "k1", "--file", map.path, "--wait", "0", "--as", "ci"] + site.signIn("ci")
        )
        #expect(sent.status == 0, "\(sent)")
        for number in 1...20 { try await append(site, "\(number)", wait: "0") }
        // What it logs when it begins to save is not yet saved: the file under its name is.
        let file = URL(fileURLWithPath: site.broker.directory + "/mosquitto.db")
        try await eventually("the last command in \(file.path)") {
            (try? Data(contentsOf: file))?.range(of: Data(#"["20"]"#.utf8)) != nil
        }
        try await site.broker.kill()
        try await site.broker.start()
        let next = try RunningAgent(
            "k1", broker: site.broker.url, directory: agent.directory,
            arguments: ["--demo"] + site.signIn("k1"))
        try await next.online()
        try await append(site, "last", wait: "60s")
        #expect(next.ledger == (1...20).map(String.init) + ["last"])
        let agents = try await RunningCommand.run(["agents"] + site.signIn("ops"))
        #expect(agents.output.contains { $0.contains("rev 1") }, "\(agents)")
        #expect(try await next.terminate() == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives files away"))
    func `make-certs --compose: each user can read its own files and no others`() async throws {
        let directory = NSTemporaryDirectory() + "waypost-compose-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await ShippedBroker.makeCertificates(
            directory,
            ["--compose", "--agent", "k1", "--watcher", "watch", "--sender", "me", "--release", "ci"],
            ["SUDO_UID=12345", "SUDO_GID=12345"])
        func canRead(_ user: Int, _ file: String) async throws -> Bool {
            try await Tool.run(
                "setpriv",
                ["--reuid", "\(user)", "--regid", "\(user)", "--clear-groups", "cat", "\(directory)/\(file)"]
            ).status == 0
        }
        for (name, owner) in [("k1", 10001), ("watch", 10001), ("me", 12345), ("ci", 12345)] {
            for user in [10001, 12345] {
                for file in ["password", "client.key", "ca.crt"] {
                    #expect(
                        try await canRead(user, "clients/\(name)/\(file)") == (user == owner),
                        "\(user) \(name)/\(file)")
                }
            }
        }
        #expect(try await canRead(1883, "broker/passwd"))
        for user in [1883, 10001, 12345] { #expect(try await canRead(user, "ca.key") == false) }
    }
}
