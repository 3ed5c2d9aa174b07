import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI

/// `waypost collect`: one archive with all that is known of an agent.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct CollectTests {
    /// A bundle, unpacked.
    private struct Opened {
        let folder: String
        let index: JSONValue

        /// A folder of the test's own; its bundle is beside it.
        init(_ file: String) async throws {
            folder = file + ".files"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let ending = try await Tool.run(
                "tar", ["-xzf", file, "--strip-components=1", "-C", folder], hasErrors: true)
            #expect(ending.status == 0 && ending.output.isEmpty, "\(ending)")
            index = try JSONValue(
                parsing: Array(Data(contentsOf: URL(fileURLWithPath: folder + "/index.json"))))
        }

        func text(_ file: String) throws -> String {
            try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
        }

        func json(_ file: String) throws -> JSONValue { try JSONValue(parsing: Array(text(file).utf8)) }

        /// Why a part is not there; nil when it is.
        func missing(_ file: String) -> String? {
            index["parts"]?.arrayValue?.first { $0["file"]?.stringValue == file }?["missing"]?.stringValue
        }
    }

    private static func file(_ site: Site<some ObservedAgent>) -> String {
        site.broker.directory + "/bundle.tar.gz"
    }

    @Test func `all that the broker and the agent know is in it, and the index says what`() async throws {
        let site = try await Site.open()
        let failed = try await site.run("open", "scheme://router/none", "--agent", "k1", "--no-check")
        #expect(failed.status == 1, "\(failed)")
        let map =
            #"{"type":"map","rev":7,"entries":[{"routerType":1,"orginPath":"scheme://router/a","#
            + #""targetPath":"scheme://router/demo?x=hunter2","params":{"note":"hunter2"}}]}"#
        try Data(map.utf8).write(to: URL(fileURLWithPath: site.broker.directory + "/map.json"))
        let sent = try await site.run(
            "relocate", "--agent", "k1", "--file", site.broker.directory + "/map.json")
        #expect(sent.status == 0, "\(sent)")
        let joined = try await site.run("groups", "--agent", "k1", "--add", "lobby", "--wait", "30s")
        #expect(joined.status == 0, "\(joined)")
        let ending = try await site.run("collect", "--agent", "k1", "-o", Self.file(site))
        #expect(ending.status == 0 && ending.output.first?.hasPrefix(Self.file(site)) == true, "\(ending)")
        #expect(ending.errorLines.contains { $0.hasPrefix("waypost: agent/health.json: ") }, "\(ending)")
        let opened = try await Opened(Self.file(site))
        let parts = opened.index["parts"]?.arrayValue ?? []
        for part in parts where part["missing"] == nil {
            let file = try #require(part["file"]?.stringValue)
            #expect(try Int64(opened.text(file).utf8.count) == part["bytes"]?.boundedInt, "\(part)")
            #expect(part["read"]?.boundedInt ?? 0 > 0, "\(part)")
        }
        #expect(parts.compactMap { $0["missing"]?.stringValue }.count <= 1, "\(opened.index)")
        #expect(try opened.json("broker/state.json")["state"] == "online")
        #expect(try opened.json("agent/health.json")["agent"] == "k1")
        #expect(try opened.json("broker/map.json")["rev"] == 7)
        #expect(try opened.json("broker/groups.json")["add"] == ["lobby"])
        #expect(try opened.json("agent/health.json")["membership"]?["rev"] == 1)
        // Which keys are secret, the agent knows, and of the map that the broker keeps it says nothing.
        #expect(try !opened.text("broker/map.json").contains("hunter2"))
        #expect(try opened.text("agent/failures.jsonl").contains("NO_ROUTE"))
        #expect(
            try opened.text("agent/events.jsonl").contains("scheme:\\/\\/router\\/none")
                || opened.text("agent/events.jsonl").contains("scheme://router/none"))
        #expect(try opened.text("agent/map-history.jsonl").contains("\"rev\":7"))
        #expect(try opened.text("doctor.jsonl").contains("\"check\":\"broker\""))
        let mode = try FileManager.default.attributesOfItem(atPath: Self.file(site))[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test func `of an agent that was killed it has what the broker keeps and what its machine knows`()
        async throws
    {
        let site = try await Site.openProcess()
        let sent = try await site.run("open", "scheme://router/demo?id=hunter2", "--agent", "k1")
        #expect(sent.status == 0, "\(sent)")
        try await site.agent.kill()
        let ending = try await RunningCommand.run(
            [
                "collect", "--agent", "k1", "--local", "--state", site.agent.directory, "--output",
                Self.file(site),
                "--json",
            ], environment: ["WAYPOST_BROKER": site.broker.url])
        #expect(ending.status == 0, "\(ending)")
        let opened = try await Opened(Self.file(site))
        let printed = try JSONValue(parsing: Array(try #require(ending.output.first).utf8))
        #expect(
            printed["parts"] == opened.index["parts"] && printed["output"]?.stringValue == Self.file(site))
        #expect(try opened.json("broker/state.json")["agent"] == "k1")
        #expect(opened.missing("local/health.json")?.contains("no agent answers") == true, "\(opened.index)")
        #expect(opened.missing("local/unit.txt")?.isEmpty != true)
        let state = try opened.json("local/state.json")
        #expect(state["inbox"]?["rows"]?.arrayValue?.first?["id"]?.stringValue?.isEmpty == false, "\(state)")
        #expect(state["inbox"]?["count"]?.boundedInt ?? 0 >= 1 && state["maps"] != nil, "\(state)")
        #expect(try !opened.text("local/state.json").contains("hunter2"))
    }

    @Test func `without a broker it has what this machine knows, and says why the rest is missing`()
        async throws
    {
        let site = try await Site.open()
        let missing = try await site.run("open", "scheme://router/none", "--agent", "k1", "--no-check")
        #expect(missing.status == 1)
        let ending = try await RunningCommand.run(
            ["collect", "--agent", "k1", "--local", "--state", site.agent.directory, "-o", Self.file(site)],
            environment: ["WAYPOST_BROKER": "mqtt://127.0.0.1:1"])
        #expect(ending.status == 0, "\(ending)")
        let opened = try await Opened(Self.file(site))
        #expect(opened.missing("broker")?.contains("no broker") == true, "\(opened.index)")
        #expect(try opened.text("doctor.jsonl").contains("\"status\":\"failed\""))
        #expect(try opened.json("local/health.json")["agent"] == "k1")
        #expect(try opened.text("local/failures.json").contains("NO_ROUTE"))
        #expect(try opened.json("local/maps.json")["pages"]?.arrayValue?.isEmpty == false)
        #expect(opened.missing("local/state.json")?.contains("running agent") == true)
        #expect(try opened.json("local/settings.json")["broker"] == "mqtt://127.0.0.1:1")
        // Signed in as the agent, it would end that one's session.
        let own = try await RunningCommand.run(
            ["collect", "--agent", "k1", "--local", "--state", site.agent.directory, "-o", Self.file(site)],
            environment: ["WAYPOST_BROKER": site.broker.url, "WAYPOST_USERNAME": "k1"])
        #expect(
            own.status == 0 && own.errorLines.contains { $0.contains("broker: missing: not asked") }, "\(own)"
        )
    }

    @Test(arguments: [
        (["--output", "/dev/full"], "No space left on device"),
        (["--output", "/none/bundle.tar.gz"], "No such file or directory"),
        (["--output", "/tmp"], "Is a directory"),
    ])
    func `what can't be written is one sentence`(options: [String], text: String) async throws {
        let ending = try await RunningCommand.run(
            ["collect", "--agent", "k1"] + options, environment: ["WAYPOST_BROKER": "mqtt://127.0.0.1:1"])
        #expect(ending.status == 1 && ending.output.isEmpty, "\(ending)")
        #expect(ending.errorLines.last?.hasPrefix("waypost: error: write the bundle /") == true, "\(ending)")
        #expect(ending.errorLines.last?.hasSuffix(text) == true, "\(ending)")
    }

    @Test func `Ctrl-C leaves no file`() async throws {
        let site = try await Site.openProcess()
        // It is online for the broker, and does not answer.
        try await site.agent.freeze()
        let folder = site.broker.directory + "/empty"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let command = try site.start("collect", "--agent", "k1", "-o", folder + "/bundle.tar.gz")
        try await command.printedError("broker/state.json")
        command.send(signal: SIGINT)
        let ending = try await command.ending()
        site.agent.thaw()
        #expect(ending.status == 130, "\(ending)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test func `the unit and its journal are in it, masked, and a program that fails is named`() async throws
    {
        let folder = NSTemporaryDirectory() + "waypost-systemd-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, script) in [
            ("journalctl", "echo \"$@\"; echo 'opened scheme://router/demo?password=hunter2'"),
            ("systemctl", "echo 'Access denied' >&2; exit 4"),
        ] {
            try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: "\(folder)/\(name)")
        }
        var bundle = AgentBundle(agent: "k1")
        let local = LocalBundle(name: "k1", directory: folder, systemd: folder, programs: folder) { _ in }
        try await local.add(to: &bundle, Settings([:], file: nil))
        let file = folder + "/bundle.tar.gz"
        try Data(bundle.archive()).write(to: URL(fileURLWithPath: file))
        let opened = try await Opened(file)
        let journal = try opened.text("local/journal.txt")
        #expect(
            journal.contains("--unit=waypost-agent@k1.service") && journal.contains("password=***"),
            "\(journal)")
        #expect(opened.missing("local/unit.txt")?.hasSuffix("systemctl ended with 4: Access denied") == true)
    }

    @Test func `of too many lines it has the last, and of too long a document the reason`() async throws {
        var bundle = AgentBundle(
            agent: "../k1", maskedKeys: ["pin"], fileLimit: 4_000, limit: 16_000)
        let line = String(repeating: "x", count: 100)
        bundle.add("../../etc/lines.txt", "lines", lines: (0..<100).map { "\($0) \(line)" })
        bundle.add("long.json", "a document", .string(String(repeating: line, count: 100)))
        bundle.add("pin.jsonl", "secrets", lines: [#"{"pin":"hunter2"}"#, "pin=hunter2"])
        bundle.miss("gone.json", "what was not there", "token=hunter2 was refused")
        for number in 0..<20 { bundle.add("more\(number)", "more", lines: Array(repeating: line, count: 30)) }
        let parts = bundle.parts
        #expect(parts[0].file == "etc/lines.txt" && parts[0].isCut && parts[0].bytes <= 4_000)
        #expect(parts[1].missing?.contains("a bundle takes") == true && parts[1].bytes == 0)
        #expect(parts[3].missing == "token=*** was refused")
        #expect(parts.reduce(0) { $0 + $1.bytes } <= 16_000 && parts.last?.missing != nil)
        let folder = NSTemporaryDirectory() + "waypost-bundle-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(bundle.archive()).write(to: URL(fileURLWithPath: folder + "/bundle.tar.gz"))
        let opened = try await Opened(folder + "/bundle.tar.gz")
        let lines = try opened.text("etc/lines.txt")
        #expect(lines.hasSuffix("99 \(line)\n") && !lines.contains("\n0 "))
        #expect(try opened.text("pin.jsonl") == "{\"pin\":\"***\"}\npin=***\n")
        let names = try await Tool.run("tar", ["-tzf", folder + "/bundle.tar.gz"])
        #expect(names.output.hasPrefix("waypost-k1/index.json\n") && !names.output.contains(".."), "\(names)")
    }
}
