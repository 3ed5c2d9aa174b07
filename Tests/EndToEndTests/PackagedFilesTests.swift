import Foundation
import MQTTLink
import TestSupport
import Testing
import WaypostAgent

@testable import WaypostCLI

/// What the Debian packages have beside the program; scripts/release package check tries the packages themselves.
@Suite(
    .aFewAtATime, .timeLimit(.minutes(60)),
    .enabled(if: Sanitizer.isAbsent, "it starts the program hundreds of times, seconds each there"))
struct PackagedFilesTests {
    private let out = NSTemporaryDirectory() + "waypost-packaged-\(UUID().uuidString)"

    private func run(_ script: String, _ arguments: String...) async throws -> Tool.Ending {
        try await Tool.run(
            "bash",
            ["-c", #""$0" "$@" 2>&1"#, "\(ShippedBroker.repository)/scripts/\(script)"] + arguments)
    }

    /// Writes manual, completions and settings.
    private func manual() async throws {
        let made = try await run("docs", "manual", "--binary", CommandProcess.executable.path, "--out", out)
        #expect(made.status == 0, "\(made)")
    }

    private func has(_ tool: String) async throws -> Bool {
        try await Tool.run("bash", ["-c", "command -v \(tool)"]).status == 0
    }

    @Test func `each verb has a page of the manual, and no page has a fault`() async throws {
        defer { try? FileManager.default.removeItem(atPath: out) }
        try await manual()
        let pages = try FileManager.default.contentsOfDirectory(atPath: out + "/man")
        let verbs = Verbs.all + Verbs.all.map { $0.dropLast() }
        let wanted = verbs.map { (["waypost"] + $0).joined(separator: "-") + ".1" }
        #expect(Set(pages) == Set(wanted + ["waypost-broker.7", "waypost-limits.7"]))
        let open = try String(contentsOfFile: out + "/man/waypost-open.1", encoding: .utf8)
        #expect(open.contains(#"waypost open \(aqscheme://router/demo?id=2\(aq \-\-agent k1"#), "\(open)")
        #expect(open.contains(#"\fB\-\-param\fR \fIkey=value\fR"#))
        guard try await has("groff") else { return }
        let check = try await Tool.run(
            "bash", ["-c", "groff -man -Kutf8 -Tutf8 -ww -z '\(out)'/man/* 2>&1"])
        #expect(check.status == 0 && check.output.isEmpty, "\(check)")
    }

    @Test func `the completions are read by their shells`() async throws {
        defer { try? FileManager.default.removeItem(atPath: out) }
        try await manual()
        for (shell, file) in [("bash", "waypost"), ("zsh", "_waypost"), ("fish", "waypost.fish")]
        where try await has(shell) {
            let check = try await Tool.run(shell, ["-n", "\(out)/\(shell)/\(file)"])
            #expect(check.status == 0, "\(shell): \(check)")
        }
    }

    @Test func `agent.yaml has every setting, commented out, and each is one when its # is removed`()
        async throws
    {
        defer { try? FileManager.default.removeItem(atPath: out) }
        try await manual()
        let text = try String(contentsOfFile: out + "/agent.yaml", encoding: .utf8)
        let error = #expect(throws: CommandError.self) {
            try SettingsFile(Array(text.utf8), of: "agent.yaml")
        }
        #expect(error?.description.contains("no settings") == true, "\(error as Any)")
        let lines = text.split(separator: "\n").filter { $0.prefix(2) != "# " && $0.contains(": ") }
        let settings = try SettingsFile(
            Array(lines.map { $0.dropFirst() }.joined(separator: "\n").utf8), of: "agent.yaml"
        ).settings
        // A password belongs into its own file, and the others say who sends commands.
        let elsewhere: Set = ["password", "as", "accounts"]
        #expect(Set(settings.keys) == Set(SettingNames.all).subtracting(elsewhere))
        for setting in AgentNumber.all {
            #expect(
                lines.contains { $0 == "#\(setting.name): \(setting.standard)" },
                "\(setting.name)")
        }
    }

    @Test func `the service is closed to what it does not need, and so are several of them`() async throws {
        guard try await has("systemd-analyze") else { return }
        defer { try? FileManager.default.removeItem(atPath: out) }
        try FileManager.default.createDirectory(atPath: out, withIntermediateDirectories: true)
        let template = try await run("release", "package", "template")
        #expect(template.output.contains("Environment=WAYPOST_AGENT=%i"))
        #expect(template.output.contains("--config /etc/waypost/%i.yaml"))
        #expect(template.output.contains("StateDirectory=waypost-agents/%i"))
        let unit = try String(
            contentsOfFile: "\(ShippedBroker.repository)/scripts/systemd/waypost-agent.service",
            encoding: .utf8)
        for (name, text) in [("waypost-agent.service", unit), ("waypost-agent@.service", template.output)] {
            // The program is not installed here, nor is its page.
            let here = text.replacing("/usr/bin/waypost", with: "/bin/true").replacing(
                "Documentation=man:waypost-agent(1)\n", with: "")
            try here.write(toFile: "\(out)/\(name)", atomically: true, encoding: .utf8)
            let instance = "\(out)/\(name.replacing("@.", with: "@kiosk-2."))"
            let verify = "systemd-analyze verify --recursive-errors=no '\(instance)' 2>&1"
            let check = try await Tool.run("bash", ["-c", "\(verify) | grep '\(name.prefix(13))'"])
            #expect(check.output.isEmpty, "\(check)")
            let exposed = "systemd-analyze security --offline=true --threshold=25 '\(out)/\(name)' 2>&1"
            let security = try await Tool.run("bash", ["-c", exposed])
            #expect(security.status == 0, "\(security.output.suffix(200))")
        }
    }

    @Test func `a release must have its version, its section and a release before it`() async throws {
        let version = try await Tool.run(CommandProcess.executable.path, ["--version"]).output
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let last = try await run("release", "--last", version)
        #expect(last.status == 0, "\(last)")
        #expect(last.output.split(separator: " ").last?.count == 41, "\(last)")
        #expect(try await run("release", "--notes", version).output.contains("### "))
        for (arguments, status, finding) in [
            (["9.9.9", "--dry-run"], 1, "says \(version) and not 9.9.9"), (["next"], 64, "three numbers"),
            (["--notes", "9.9.9"], 1, "no section [9.9.9]"),
            (["--last", "0.1.0"], 1, "no version before 0.1.0"),
        ] {
            let ending = try await Tool.run(
                "bash", ["-c", #""$0" "$@" 2>&1"#, "\(ShippedBroker.repository)/scripts/release"] + arguments)
            #expect(ending.status == status)
            #expect(ending.output.contains(finding), "\(ending)")
        }
    }
}

extension AgentConfiguration {
    /// Where nothing is set.
    fileprivate static var usual: AgentConfiguration {
        AgentConfiguration(agent: "k1", stateDirectory: "/tmp", link: .init(brokers: [], clientID: "k1"))
    }
}
