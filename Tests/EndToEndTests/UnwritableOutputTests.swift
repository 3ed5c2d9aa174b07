import CommandSupport
import Foundation
import TestSupport
import Testing

@testable import WaypostCLI

/// What is printed to where it can't be written is missed: by the status, and by a sentence with the system's words.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct UnwritableOutputTests {
    private static let loss = "waypost: error: write to standard output: "

    /// What has each command print; the words behind it.
    private static let arguments: [String: [String]] = [
        "agents": [], "bench": ["--agent", "k1", "--count", "2"],
        "call": ["CalculatorService", "add", "--args", "[2,3]", "--agent", "k1"],
        "cancel": ["c-17", "--agent", "k1"], "check": ["--demo"],
        "collect": ["--agent", "k1", "--output", "/dev/null"],
        "describe": ["--agent", "k1"], "doctor": [], "explain": ["404"], "failures": [],
        "forget": ["kiosk-9", "--yes"],
        "groups": ["--agent", "k1"], "health": ["--local", "--state", "STATE"],
        "log": ["V", "--agent", "k1", "--for", "1s"],
        "logcat": ["-d", "--agent", "k1"], "navigate": ["back", "--agent", "k1"],
        "new": ["kiosk", "--package", "https://git.example/waypost.git", "--output", "FOLDER"],
        "open": ["scheme://router/demo", "--agent", "k1"], "pending": ["--agent", "k1"],
        "ping": ["--agent", "k1"],
        "profile add": ["p1", "--broker", "mqtt://127.0.0.1"], "profile list": [], "profile show": ["p1"],
        "map diff": ["--agent", "k1", "--file", "FILE"], "map history": ["--agent", "k1"],
        "map show": ["--agent", "k1"], "map undo": ["--agent", "k1", "--dry-run"],
        "profile use": ["p1"], "generate swift": ["--agent", "k1"],
        "generate python": ["--agent", "k1"], "generate typescript": ["--agent", "k1"],
        "map sign": ["FILE", "--key", "KEY", "--agent", "k1"], "map verify": ["SIGNED", "--key", "PUB"],
        "relocate": ["--agent", "k1", "--delete", "scheme://router/demo3"],
        "replay": ["--agent", "k1"], "retained clear": ["--agent", "kiosk-9", "--yes"],
        "retained list": ["--agent", "k1"],
        "rollout plan": ["--group", "all", "--file", "FILE"], "resolve": ["--demo", "scheme://router/demo"],
        "routes": ["--demo"],
        "services": ["--demo"], "simulate": ["--agents", "2", "--for", "100ms"], "watch": [],
    ]
    /// What prints nothing, or on standard error; the console is a program of its own, and the demo starts some.
    private static let silent: Set = ["agent", "console", "demo", "profile remove", "retained diff"]
    /// What prints only of a roll-out that goes on.
    private static let underWay: Set = [
        "keeper", "rollout advance", "rollout history", "rollout pause", "rollout promote", "rollout resume",
        "rollout start", "rollout status", "rollout take-back", "rollout watch",
    ]

    /// What the words in capitals stand for; for commands about maps also a map that the agent has had.
    private func files(for verb: [String], _ site: Site<RunningAgent>) async throws -> [String: String] {
        if verb == ["forget"] || verb == ["retained", "clear"] { try await site.retire("kiosk-9") }
        if verb == ["new"] { return ["FOLDER": site.broker.directory + "/\(UUID().uuidString)"] }
        guard verb.first == "map" || verb.first == "rollout" else { return ["STATE": site.agent.directory] }
        let folder = site.broker.directory
        let files = [
            "FILE": folder + "/map.json", "KEY": folder + "/release.pem", "PUB": folder + "/release.pub",
            "SIGNED": folder + "/signed.json",
        ]
        let script = #"""
            cd "$0" && umask 077 && echo '{"type":"map","rev":7,"entries":[]}' > map.json &&
            openssl genpkey -algorithm ed25519 -out release.pem && openssl pkey -in release.pem -pubout -out release.pub
            """#
        #expect(try await Tool.run("sh", ["-c", script, folder]).status == 0)
        let map = folder + "/map.json"
        for words in [
            [
                "map", "sign", map, "--key", folder + "/release.pem", "--agent", "k1", "-o",
                folder + "/signed.json",
            ],
            ["relocate", "--agent", "k1", "--file", map],
        ] {
            let ending = try await RunningCommand.run(
                words, environment: ["WAYPOST_BROKER": site.broker.url])
            #expect(ending.status == 0, "\(ending)")
        }
        return files
    }

    @Test func `every command is tried`() {
        let all = Set(Verbs.all.map { $0.joined(separator: " ") })
        #expect(Set(Self.arguments.keys).union(Self.silent).union(Self.underWay) == all)
    }

    @Test(arguments: Verbs.all)
    func `what cannot be printed is said, and the status is not 0`(_ verb: [String]) async throws {
        guard let words = Self.arguments[verb.joined(separator: " ")] else { return }
        let site = try await Site.open()
        _ = try await site.run("open", "scheme://router/nowhere", "--agent", "k1", "--no-check")
        let environment = ["WAYPOST_BROKER": site.broker.url, "XDG_CONFIG_HOME": site.broker.directory]
        if verb.first == "profile" {
            let add = ["profile", "add", "p1", "--broker", "mqtt://127.0.0.1"]
            #expect(try await RunningCommand.run(add, environment: environment).status == 0)
        }
        if verb == ["pending"] {
            _ = try await site.run("open", "scheme://router/demo", "--agent", "k1", "--after", "1h")
        }
        for form in [[], ["--json"]] {
            let files = try await files(for: verb, site)
            let all = verb + words.map { files[$0] ?? $0 }
            let command = try RunningCommand(all + form, environment: environment, output: .full)
            if verb == ["watch"] {
                // It prints what comes.
                try await command.printedError("k1 is online")
                _ = try await site.run("open", "scheme://router/demo", "--agent", "k1")
            }
            let ending = try await command.ending()
            #expect(ending.status != 0, "\(all + form)")
            #expect(
                ending.errorLines.last
                    == Self.loss + "No space left on device; what was printed is not complete",
                "\(all + form): \(ending.errorLines)")
        }
        #expect(try await site.agent.terminate() == 0)
    }

    @Test(arguments: Verbs.all.map { $0 + ["--help"] } + [["--help"], ["--version"], ["help"]])
    func `so is the help that cannot be printed`(_ words: [String]) async throws {
        let ending = try await RunningCommand.run(words, output: .full)
        #expect(ending.status == 1)
        #expect(ending.errorLines.map { $0.hasPrefix(Self.loss) } == [true], "\(ending.errorLines)")
    }

    @Test(
        .enabled(if: Sanitizer.isAbsent, "its own files may not grow either"),
        arguments: [
            // In blocks of 1 KiB: what the system does when a file may not grow further.
            (#"ulimit -f 2; exec "$0" "$@" >"$OUTPUT""#, "File too large"),
            // Otherwise the first file or socket that is opened would be standard output.
            (#"exec "$0" "$@" >&-"#, "Bad file descriptor"),
        ])
    func `a file that may not grow, and an output that is not there`(_ script: String, _ text: String)
        async throws
    {
        let file = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)-output"
        defer { unlink(file) }
        let ending = try await CommandProcess.run(
            ["--generate-completion-script", "bash"], environment: ["OUTPUT": file], through: script)
        #expect(ending.status == 1)
        #expect(ending.errorLines.map { $0.hasPrefix(Self.loss + text) } == [true], "\(ending.errorLines)")
    }

    @Test(arguments: Verbs.all)
    func `a reader that has enough is no failure, whatever it reads`(_ verb: [String]) async throws {
        guard let words = Self.arguments[verb.joined(separator: " ")], verb != ["watch"] else { return }
        let site = try await Site.open()
        let environment = ["WAYPOST_BROKER": site.broker.url, "XDG_CONFIG_HOME": site.broker.directory]
        let files = try await files(for: verb, site)
        let all = verb + words.map { files[$0] ?? $0 }
        let ending = try await RunningCommand.run(all, environment: environment, output: .unread)
        #expect(!ending.errorLines.contains { $0.contains("standard output") }, "\(ending.errorLines)")
        // What killed it would be 128 and more.
        #expect([0, 1, 64].contains(ending.status), "\(ending)")
        #expect(try await site.agent.terminate() == 0)
    }

    @Test func `what the demo cannot print is said, and the status is not 0`() async throws {
        let ending = try await CommandProcess.run(["demo"], through: #"exec "$0" "$@" >/dev/full"#)
        #expect(ending.status != 0)
        #expect(ending.errorLines.last?.hasPrefix(Self.loss + "No space left on device") == true, "\(ending)")
    }

    @Test func `a reader that has enough is no failure`() async throws {
        // More than a pipe holds.
        let ending = try await CommandProcess.run(
            ["--generate-completion-script", "bash"],
            through: #""$0" "$@" | true; exit ${PIPESTATUS[0]}"#)
        #expect(ending.status == 0 && ending.errorLines.isEmpty, "\(ending)")
    }

    @Test func `an error in JSON that cannot be printed stands on standard error`() async throws {
        let ending = try await CommandProcess.run(
            ["ping", "--agent", "k1", "--json", "--broker", "mqtt://127.0.0.1:\(try FreePort.find())"],
            through: #"exec "$0" "$@" >/dev/full"#)
        #expect(ending.status == 4)
        #expect(ending.errorLines.first?.contains("Connection refused") == true)
        #expect(ending.errorLines.last?.hasPrefix(Self.loss) == true)
    }

    @Test(.enabled(if: Sanitizer.isAbsent, "its own files may not grow either"))
    func `a profile that cannot be written is named, and the old one stays`() async throws {
        let folder = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)-profiles"
        func add(_ name: String, through script: String? = nil) async throws -> RunningCommand.Ending {
            try await CommandProcess.run(
                ["profile", "add", "p1", "--broker", "mqtt://127.0.0.1", "--username", name],
                environment: ["XDG_CONFIG_HOME": folder], through: script)
        }
        #expect(try await add("ops").status == 0)
        let name = String(repeating: "u", count: 4_000)
        let ending = try await add(name, through: #"ulimit -f 1; exec "$0" "$@""#)
        #expect(ending.status == 1)
        #expect(ending.errorLines.last?.hasSuffix("/profiles/p1.yaml: File too large") == true, "\(ending)")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder + "/waypost/profiles")
        #expect(files == ["p1.yaml"])
        let text = try String(contentsOfFile: folder + "/waypost/profiles/p1.yaml", encoding: .utf8)
        #expect(text.contains("ops"))
    }
}
