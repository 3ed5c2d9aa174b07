import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct DoctorTests {
    /// What the doctor found, by check; where a check has several findings, the worst.
    private func findings(_ ending: RunningCommand.Ending) throws -> [String: JSONValue] {
        let order: [JSONValue] = ["note", "ok", "skipped", "warning", "failed"]
        return try ending.output.map { try JSONValue(parsing: $0) }.reduce(into: [:]) { found, line in
            let check = line["check"]?.stringValue ?? ""
            let known = order.firstIndex { $0 == found[check]?["status"] } ?? -1
            let new = order.firstIndex { $0 == line["status"] } ?? -1
            if new > known { found[check] = line }
        }
    }

    @Test func `with all in order it finds nothing that failed and ends with 0`() async throws {
        let site = try await Site.open()
        let ending = try await site.run("doctor", "--json")
        #expect(ending.status == 0, "\(ending.output)")
        let found = try findings(ending)
        for check in ["broker", "subscribe", "agents", "publish", "clock"] {
            #expect(found[check]?["status"] == "ok", "\(check): \(ending.output)")
        }
        #expect(found["version"]?["found"]?.stringValue?.hasPrefix("mosquitto version") == true)
        let text = try await site.run("doctor", "--agent", "k1")
        #expect(text.output.first?.hasPrefix("nothing failed, ") == true)
        #expect(text.output.contains { $0.hasPrefix("ok         broker") && $0.contains("MQTT 5") })
        #expect(text.output.contains { $0.contains("k1 answers a ping") })
    }

    @Test func `a broker that has no state of an agent that answers is one that keeps or kept nothing`()
        async throws
    {
        // What is removed the agent publishes again, unless it may not.
        let site = try await ShippedBroker(["--agent", "k1", "--sender", "ops"]) {
            $0.replacingOccurrences(of: "topic readwrite waypost/v1/k1/state\n", with: "")
        }
        let agent = try RunningAgent("k1", broker: site.broker.url, arguments: ["--demo"] + site.signIn("k1"))
        try await agent.online()
        let ending = try await RunningCommand.run(["doctor", "--json", "--agent", "k1"] + site.signIn("ops"))
        let found = try findings(ending)
        #expect(found["publish"]?["status"] == "ok", "\(ending)")
        #expect(found["retained"]?["status"] == "warning", "\(ending)")
        #expect(found["retained"]?["advice"]?.stringValue?.contains("persistence") == true)
        #expect(try await agent.terminate() == 0)
    }

    @Test func `a broker that gives wildcards no retained message is recognised`() async throws {
        let broker = try NoWildcardBroker()
        let ending = try await RunningCommand.run(
            ["doctor", "--json", "--agent", "k1"],
            environment: ["WAYPOST_BROKER": broker.url])
        let found = try findings(ending)
        #expect(found["publish"]?["status"] == "ok", "\(ending)")
        #expect(found["retained"]?["status"] == "warning", "\(ending)")
        #expect(found["retained"]?["found"]?.stringValue?.hasSuffix("and none to wildcards") == true)
        #expect(found["retained"]?["advice"]?.stringValue?.contains("only once it publishes") == true)
    }

    // With three brokers each had a third of the time, and NATS took more to make the subscriptions.
    @Test func `a broker that accepts at once and is slow to subscribe has the time of the whole list`()
        async throws
    {
        let slow = try NoWildcardBroker(subscribingTakes: 4)
        let dead = ["mqtt://127.0.0.1:\(try FreePort.find())", "mqtt://127.0.0.1:\(try FreePort.find())"]
        let brokers = [slow.url] + dead
        let ending = try await RunningCommand.run(
            ["ping", "--agent", "k1"] + brokers.flatMap { ["--broker", $0] })
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `without a broker it says so and ends with 4`() async throws {
        let broker = "mqtt://127.0.0.1:\(try FreePort.find())"
        let ending = try await RunningCommand.run(["doctor", "--broker", broker])
        #expect(ending.status == 4)
        #expect(ending.output.first == "1 failed, 0 ok")
        #expect(ending.output.last?.hasPrefix("failed     broker") == true)
        #expect(ending.output.last?.contains("is a broker listening there?") == true)
    }

    @Test(arguments: ["5", "3.1.1"])
    func `what the broker's rules keep from a sender is found, whether it says so or not`(
        _ version: String
    ) async throws {
        // k1 may do all it needs; the unknown user may read and not write.
        let broker = try await TestBroker.start(
            ["allow_anonymous true", "acl_file @dir/acl"],
            files: [
                "acl": """
                topic read $SYS/#
                topic read waypost/v1/#
                topic write waypost/v1/k1/state
                topic write waypost/v1/k1/health
                topic write waypost/v1/k1/echo
                topic write waypost/v1/k1/routes
                topic write waypost/v1/k1/contract
                topic write waypost/v1/k1/navigation
                topic write waypost/v1/k1/map/applied
                topic write waypost/v1/k1/fail
                topic write waypost/v1/k1/log/+
                """
            ])
        defer { broker.end() }
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let ending = try await RunningCommand.run(
            ["doctor", "--json", "--as", "ops", "--broker", broker.url, "--mqtt", version, "--wait", "2s"])
        #expect(ending.status == (version == "5" ? 0 : 1), "\(ending)")
        let found = try findings(ending)
        #expect(found["broker"]?["status"] == "ok")
        // What the broker refuses may be meant so: a watcher only reads.
        #expect(found["publish"]?["status"] == (version == "5" ? "warning" : "failed"), "\(ending.output)")
        let advice = try #require(found["publish"]?["advice"]?.stringValue)
        #expect(advice.contains("ops") && advice.contains("write"))
        if version == "5" {
            #expect(found["publish"]?["found"]?.stringValue?.contains("Not authorized (0x87)") == true)
        }
        #expect(try await agent.terminate() == 0)
    }

    @Test(arguments: ["5", "3.1.1"])
    func `an agent that may not read its own echo is found by what does not come back`(
        _ version: String
    ) async throws {
        let broker = try await TestBroker.start(
            ["allow_anonymous true", "acl_file @dir/acl"],
            files: ["acl": "topic write waypost/v1/k1/#\ntopic read waypost/v1/+/state\n"])
        defer { broker.end() }
        let ending = try await RunningCommand.run(
            [
                "doctor", "--local", "--sign-in", "--agent", "k1", "--state", broker.directory, "--json",
                "--broker",
                broker.url, "--mqtt", version,
            ])
        #expect(ending.status == 1)
        let found = try findings(ending)
        #expect(found["echo"]?["status"] == "failed", "\(ending.output)")
        #expect(found["echo"]?["found"]?.stringValue?.contains("did not come back") == true)
    }

    @Test func `commands that a broker takes and keeps back are found by the agent and by the doctor`()
        async throws
    {
        let broker = try await TestBroker.start(
            ["allow_anonymous true", "acl_file @dir/acl"],
            files: [
                "acl": """
                topic write waypost/v1/#
                topic read waypost/v1/k1/echo
                topic read waypost/v1/+/fail
                topic read waypost/v1/+/state
                """
            ])
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let agent = try RunningAgent("k1", broker: broker.url, arguments: ["--health-interval", "1"])
        try await backend.wait(for: "a report about commands") { seen in
            seen.contains {
                $0.json?["name"] == "ACL_SUSPECTED"
                    && $0.json?["detail"]?.stringValue?.contains("waypost/v1/k1/cmd/k1") == true
            }
        }
        func look(_ version: String) async throws -> JSONValue? {
            let ending = try await RunningCommand.run([
                "doctor", "--local", "--sign-in", "--agent", "k1", "--state", agent.directory, "--json",
                "--broker",
                broker.url, "--mqtt", version,
            ])
            let found = try findings(ending)
            #expect(found["echo"]?["status"] == "ok", "\(ending.output)")
            return found["commands"]
        }
        #expect(try await look("5")?["status"] == "failed")
        // There a broker acknowledges what it drops, so it may be the writing that is not allowed.
        let unknown = try await look("3.1.1")
        #expect(unknown?["status"] == "skipped")
        #expect(unknown?["found"]?.stringValue?.contains("it is not known") == true)
        #expect(try await agent.terminate() == 0)
    }

    @Test func `an agent that may not write commands gets no finding about them but that it can't be known`()
        async throws
    {
        let broker = try await TestBroker.start(
            ["allow_anonymous true", "acl_file @dir/acl"],
            files: ["acl": "topic read waypost/v1/#\ntopic write waypost/v1/k1/echo\n"])
        defer { broker.end() }
        let ending = try await RunningCommand.run([
            "doctor", "--local", "--sign-in", "--agent", "k1", "--state", broker.directory, "--json",
            "--broker",
            broker.url,
        ])
        let found = try findings(ending)
        #expect(found["echo"]?["status"] == "ok", "\(ending.output)")
        #expect(found["commands"]?["status"] == "skipped", "\(ending.output)")
    }

    @Test func `the state directory is looked at while the agent runs and when it does not`() async throws {
        let site = try await Site.open()
        let directory = site.agent.directory
        func look() async throws -> (status: Int32, found: [String: JSONValue]) {
            let ending = try await site.run(
                "doctor", "--local", "--agent", "k1", "--state", directory, "--json")
            return (ending.status, try findings(ending))
        }
        _ = try await site.run("ping", "--agent", "k1")
        let busy = try await look()
        #expect(busy.status == 0, "\(busy.found)")
        #expect(busy.found["health"]?["status"] == "ok")
        #expect(
            busy.found["link"]?["found"]?.stringValue?.contains("connected to \(site.broker.url)") == true)
        #expect(busy.found["state"]?["found"]?.stringValue?.hasSuffix("in use by an agent") == true)
        #expect(busy.found["store"]?["found"]?.stringValue?.hasPrefix("in use by the running agent") == true)
        #expect(try await site.agent.terminate() == 0)
        let idle = try await look()
        #expect(idle.status == 1)
        #expect(idle.found["agent"]?["status"] == "failed")
        #expect(idle.found["agent"]?["found"]?.stringValue?.contains("stopped by SIGTERM at") == true)
        #expect(idle.found["store"]?["found"]?.stringValue?.contains("0 unfinished commands") == true)
        #expect(idle.found["state"]?["found"]?.stringValue?.hasSuffix("not in use") == true)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory)
        let loose = try await look()
        #expect(loose.status == 1)
        #expect(loose.found["state"]?["advice"]?.stringValue == "chmod go-w \(directory)")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
        let file = URL(fileURLWithPath: directory + "/waypost.sqlite")
        // What the agent wrote last may stand in the log beside the file, and count more.
        for log in ["-wal", "-shm"] { unlink(file.path + log) }
        try Data("this is no database, and long enough to be looked at".utf8).write(to: file)
        let broken = try await look()
        #expect(broken.status == 1)
        #expect(broken.found["store"]?["status"] == "failed")
    }
}
