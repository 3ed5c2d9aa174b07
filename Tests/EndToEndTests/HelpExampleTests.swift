import ArgumentParser
import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

@testable import WaypostCLI

/// What the help shows can be typed: every example of every command runs, in the order of the help.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct HelpExampleTests {
    /// The examples of one command.
    struct Page: CustomTestStringConvertible, Sendable {
        var command: String
        /// As they are typed; one that goes on in a second line ends with a backslash in its first.
        var examples: [String]

        var testDescription: String { command }
    }

    static let pages: [Page] = pages(of: WaypostCommand.self)

    private static func pages(of type: any ParsableCommand.Type) -> [Page] {
        var examples: [String] = []
        for line in type.configuration.discussion.split(separator: "\n").map(String.init) {
            if examples.last?.hasSuffix("\\") == true {
                examples[examples.count - 1] += "\n" + line
            } else if line.hasPrefix("  "), line.contains("waypost ") || line.hasSuffix("\\") {
                examples.append(String(line.dropFirst(2)))
            }
        }
        let page = Page(command: type.configuration.commandName ?? "", examples: examples)
        return (examples.isEmpty ? [] : [page]) + type.configuration.subcommands.flatMap(pages)
    }

    @Test(arguments: pages)
    func `no example is wider than a terminal, so that it can be copied`(_ page: Page) {
        for line in page.examples.joined(separator: "\n").split(separator: "\n") {
            #expect(line.count <= 78, "\(line)")
        }
    }

    @Test(arguments: pages)
    func `what the environment of an agent says is in the way of none`(_ page: Page) throws {
        // As in its image and its unit, and what else it may have under the name of a verb's option.
        let environment = [
            "WAYPOST_STATE": "/var/lib/waypost", "WAYPOST_BROKER": "mqtt://broker", "WAYPOST_AGENT": "k1",
            "WAYPOST_GROUP": "lobby,floor2", "WAYPOST_USERNAME": "k1",
            "WAYPOST_PASSWORD_FILE": "/run/password",
            "WAYPOST_LABEL": "site=berlin", "WAYPOST_BUILD": "7", "WAYPOST_LOCALE": "de-DE",
            "WAYPOST_DEMO": "true",
            "WAYPOST_LOG_RATE": "50", "WAYPOST_TRUST_KEY": "release=/etc/waypost/release.pub",
        ]
        for example in page.examples {
            // Of a longer line the first command.
            let words = example.replacing(/\\\n/, with: "").split(separator: /[|<>;&]/)[0]
                .matches(of: /'([^']*)'|"([^"]*)"|[^\s'"]+/)
                .map { String($0.output.1 ?? $0.output.2 ?? $0.output.0) }
            // Some are no words without a shell, or name files that are not there.
            guard words.first == "waypost", (try? WaypostCommand.parseAsRoot(Array(words.dropFirst()))) != nil
            else { continue }
            let options = try EnvironmentOptions(Array(words.dropFirst()), environment: environment)
            let shared: Set = ["WAYPOST_STATE", "WAYPOST_AGENT", "WAYPOST_DEMO"]
            #expect(shared.isSuperset(of: options.variables), "\(example): \(options.words)")
            do {
                _ = try WaypostCommand.parseAsRoot(options.words)
            } catch {
                Issue.record("\(example): \(options.words): \(WaypostCommand.message(for: error))")
            }
        }
    }

    // The console is a program of its own, which is tested by scripts/test --console.
    @Test(arguments: pages.filter { $0.command != "console" })
    func `every example runs`(_ page: Page) async throws {
        // An agent is started by its own examples.
        let scene = try await ExampleScene(hasAgent: !["agent", "limits"].contains(page.command))
        let isAboutMaps = ["map", "show", "diff", "history", "undo", "sign", "verify"].contains(page.command)
        if isAboutMaps { try await scene.sendMaps() }
        if page.examples.contains(where: { $0.contains("map.signed.json") || $0.contains("once.json") }) {
            try await scene.signMaps()
        }
        if page.command == "logcat" { try await scene.retire("k2") }
        for (number, example) in page.examples.enumerated() {
            try scene.writeMaps(revision: (isAboutMaps ? 50 : 1) + number)
            if ["logcat", "forget", "retained", "clear"].contains(page.command) {
                try await scene.retire("kiosk-9")
            }
            let rollout = try await scene.prepareRollout(for: example)
            let command = try await scene.start(example)
            if ExampleScene.lasts(example) {
                if example.contains("agents --watch") {
                    try await command.printed("k1 ")
                } else if example.contains("waypost keeper") {
                    try await command.printed("published ")
                } else {
                    // Of an agent that is away, as it is offline.
                    try await command.printedError("line")
                }
                command.send(signal: SIGTERM)
            }
            if example.contains("rollout watch") { try await scene.promote() }
            let ending = try await command.ending()
            #expect(ending.status == 0, "\(example): \(ending)")
            if let rollout {
                try await scene.promote()
                _ = try await rollout.ending()
            }
        }
        try await scene.end()
    }
}

/// What the examples speak of: a broker, the agent k1 with the demo's features in the group lobby, the files they name.
private final class ExampleScene: Sendable {
    private let broker: TestBroker
    private let agent: RunningAgent?
    private let home: String

    /// What is not on this machine, or would take minutes, and what stands for it.
    private var substitutes: [(String, String)] {
        [
            ("mqtts://broker.example", broker.url), ("mqtt://broker.example", broker.url),
            ("/etc/waypost/agent.yaml", "agent.yaml"), ("--count 100000", "--count 100"),
            ("--duration 30", "--duration 1"), ("waypost demo --slow", "waypost demo"),
            // There is no terminal to ask on.
            ("map undo --agent k1", "map undo --yes --agent k1"),
            ("forget kiosk-9", "forget kiosk-9 --yes"),
            ("clear --agent kiosk-9", "clear --agent kiosk-9 --yes"), ("--yes --yes", "--yes"),
            // Not into the folder of the tests.
            (" --output k1.tar.gz", ""), ("waypost collect", "waypost collect --output \(home)/k1.tar.gz"),
            ("new kiosk --package https:", "new kiosk --output \(home)/made --package https:"),
            ("--package . --output ../kiosk", "--package '\(Self.root)' --output \(home)/kiosk"),
            // It must not end before it is cancelled.
            ("sleep --args '[5000]'", "sleep --args '[500000]'"),
            // Stages of minutes, and an hour behind them.
            ("--dwell 10m,5m", ""), ("--dwell 1m --without-traffic", ""), (" --tail 0s", ""),
            ("rollout start", "rollout start \(Self.pace)"),
            ("rollout resume", "rollout resume \(Self.pace)"),
            ("rollout advance", "rollout advance \(Self.pace)"),
            ("rollout promote", "rollout promote --tail 0s"),
        ]
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../..").standardized.path
    private static let pace = "--dwell 1ms --tail 0s --without-traffic"

    init(hasAgent: Bool) async throws {
        broker = try await TestBroker.start()
        agent =
            try hasAgent
            ? RunningAgent(
                "k1", broker: broker.url,
                arguments: [
                    "--demo", "--group", "lobby", "--intake-rate", "0", "--handler-deadline", "600",
                ])
            : nil
        try await agent?.online()
        home = NSTemporaryDirectory() + "waypost-examples-\(UUID().uuidString)"
        let states = home + "/.local/state/waypost"
        for folder in [states, home + "/Sources/App", home + "/Sources/Shop"] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        // Where waypost health and doctor --local look for an agent of this name.
        if let agent {
            try FileManager.default.createSymbolicLink(
                atPath: states + "/k1", withDestinationPath: agent.directory)
        }
        for (name, text) in [
            (
                "routes.json",
                #"[{"path":"scheme://router/demo","class":"A"},{"path":"scheme://home","class":"B"}]"#
            ),
            ("contract-5.3.json", "[]"), ("contract-5.4.json", #"[{"path":"a://b","class":"A"}]"#),
            ("keys.json", #"[{"path":"user/profile","class":"A"}]"#),
            ("contract.jsonl", #"{"open":"scheme://home","expect":{"route":"scheme://home"}}"#),
            ("backend.jsonl", #"{"id":"c1","type":"open","url":"scheme://router/demo"}"#),
            (".waypost-password", "secret\n"),
            ("agent.yaml", "agent: k1\nbroker: \(broker.url)\ndemo: true\n"),
        ] { try write(name, text) }
        for (name, text) in try await Self.keys.value { try write(name, text) }
        // Commands that an example asks about.
        for (id, sender) in [("01K2XJ7S4TQ5WZ8M3N6R9V0B4D", "me"), ("c-17", "orders")] where hasAgent {
            _ = try await RunningCommand.run([
                "ping", "--agent", "k1", "--id", id, "--as", sender, "--broker", broker.url,
            ])
        }
    }

    /// The files of three keys, made once for all pages.
    private static let keys = Task {
        var files: [String: String] = [:]
        for name in ["release", "new", "ops"] {
            let key = try ScratchFile("", name: "\(name).pem")
            for (file, words) in [
                (key.path, ["genpkey", "-algorithm", "ed25519"]),
                ("\(key.path).pub", ["pkey", "-in", key.path, "-pubout"]),
            ] {
                let ending = try await Tool.run("openssl", words + ["-out", file])
                guard ending.status == 0 else { throw TestBroker.Failure(description: ending.output) }
                let end = file == key.path ? "pem" : "pub"
                files["\(name).\(end)"] = try String(contentsOfFile: file, encoding: .utf8)
            }
            unlink("\(key.path).pub")
        }
        return files
    }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: home + "/" + name))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: home + "/" + name)
    }

    /// Has an agent come and go.
    func retire(_ name: String) async throws {
        let retired = try RunningAgent(name, broker: broker.url, directory: home + "/.states/" + name)
        try await retired.online()
        _ = try await retired.terminate()
    }

    /// What the examples about maps look back at: three documents of the agent and of its group.
    func sendMaps() async throws {
        let backend = try await Backend(broker: broker.url)
        for revision in 40...42 {
            try writeMaps(revision: revision)
            let map = try String(contentsOfFile: home + "/map.json", encoding: .utf8)
            for receiver in ["k1", "@lobby"] {
                try await backend.publish(map, to: "waypost/v1/\(receiver)/map", retain: true)
            }
            _ = try await backend.message(on: "waypost/v1/k1/map/applied") { applied in
                (applied["layers"]?.arrayValue ?? []).count { $0["rev"]?.intValue == Int64(revision) } == 2
            }
        }
        await backend.disconnect()
    }

    /// A map with one signature, and one with two.
    func signMaps() async throws {
        let sign = [
            "waypost map sign map.json --key release.pem --agent k1 -o once.json",
            "waypost map sign once.json --key ops.pem -o map.signed.json",
        ]
        for line in sign {
            let ending = try await start(line).ending()
            #expect(ending.status == 0, "\(ending)")
        }
    }

    /// The maps: each example sends a newer one.
    func writeMaps(revision: Int) throws {
        let entry = #"{"routerType":1,"orginPath":"scheme://old","targetPath":"scheme://router/demo"}"#
        for name in ["map.json", "all.json"] {
            try write(name, #"{"id":"m","type":"map","rev":\#(revision),"entries":[\#(entry)]}"#)
        }
        try FileManager.default.createDirectory(
            atPath: home + "/maps", withIntermediateDirectories: true)
        try write(
            "maps/@lobby.json", #"{"id":"m","type":"map","rev":\#(revision),"entries":[\#(entry)]}"#)
        try write("kiosk.json", #"{"id":"k","type":"map","rev":1,"entries":[]}"#)
    }

    /// Has the roll-out run, or stand still, that an example is about; nil when it needs none, or begins one.
    func prepareRollout(for example: String) async throws -> RunningCommand? {
        let verbs = [
            "status", "watch", "pause", "resume", "advance", "take-back", "promote", "history --group",
        ]
        guard let verb = verbs.first(where: { example.contains("rollout \($0)") }) else { return nil }
        try writeMaps(revision: Int(Date().timeIntervalSince1970))
        let id = "x-\(UUID().uuidString.prefix(8))"
        let command = try RunningCommand(
            [
                "rollout", "start", "--group", "lobby", "--file", home + "/map.json", "--id", id, "--dwell",
                "10m",
            ], environment: ["WAYPOST_BROKER": broker.url])
        // It says so before the broker has it: the lease is written first, and looked for.
        try await eventually("the roll-out to be there") {
            let status = ["rollout", "status", "--group", "lobby", "--json"]
            let ending = try await RunningCommand.run(status, environment: ["WAYPOST_BROKER": broker.url])
            return ending.output.contains { $0.contains(id) }
        }
        if verb == "resume" { _ = try await start("waypost rollout pause --group lobby").ending() }
        return command
    }

    /// Ends the roll-out, if there is one that is not over.
    func promote() async throws { _ = try await start("waypost rollout promote --group lobby").ending() }

    /// Whether it goes on until it is ended.
    static func lasts(_ example: String) -> Bool {
        let words = example.split(separator: " ")
        return switch words.dropFirst().first {
        case "agent", "watch", "keeper": true
        case "logcat": !words.contains("-d") && !words.contains("-t")
        case "agents": words.contains("--watch")
        default: false
        }
    }

    /// Starts an example in the folder: one of nothing but words in the test's process, any other in a shell.
    func start(_ example: String) async throws -> any ObservedCommand {
        var text = substitutes.reduce(example) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
        // Ten thousand commands say no more than some.
        if text.hasSuffix("bench --agent k1") { text += " --count 100" }
        // Not what reads it, where that is not installed, or when it is to be ended.
        for tool in ["jq", "dot"] where Self.lasts(example) || !Self.has(tool) {
            text = text.components(separatedBy: " | \(tool) ")[0]
        }
        let broker =
            text.contains("--profile") || text.contains("BROKER=") ? [:] : ["WAYPOST_BROKER": broker.url]
        let environment = [
            "HOME": home, "USER": "me", "XDG_CONFIG_HOME": home + "/.config",
        ].merging(broker) { $1 }
        if let words = try await words(of: text) {
            return try RunningCommand(words, environment: environment)
        }
        let folder = CommandProcess.executable.deletingLastPathComponent().path
        let begin = Self.lasts(example) ? "exec " : "set -o pipefail; "
        return try CommandProcess(
            [], environment: environment,
            through: "cd '\(home)' && export PATH='\(folder)':\"$PATH\" && \(begin)\(text)")
    }

    /// The words behind `waypost` as a shell reads them, with the files that they name; nil for a line that is more.
    private func words(of line: String) async throws -> [String]? {
        let bare = line.replacing(/'[^']*'|"[^"]*"/, with: "")
        // The demo starts programs.
        guard line.hasPrefix("waypost "), !line.hasPrefix("waypost demo"), !line.contains("$"),
            !bare.contains(where: { "|<>;&`".contains($0) })
        else { return nil }
        let script = #"HOME=$0; cd "$HOME"; printf '%s\n' "# + line.dropFirst("waypost ".count)
        let words = try await Tool.run("bash", ["-c", script, home]).output.split(separator: "\n").map(
            String.init)
        return words.indices.map { index in
            let parts = words[index].split(separator: "=", maxSplits: 1)
            let isMade = index > 0 && ["-o", "--out", "--junit", "--audit"].contains(words[index - 1])
            // `-o wide` is a form.
            guard let file = parts.last, file != "wide", isMade || isThere(file) else { return words[index] }
            return words[index].dropLast(file.count) + "\(home)/\(file)"
        }
    }

    private func isThere(_ file: Substring) -> Bool {
        !file.hasPrefix("/") && FileManager.default.fileExists(atPath: "\(home)/\(file)")
    }

    private static func has(_ tool: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(tool)")
        }
    }

    func end() async throws {
        if let agent { #expect(try await agent.terminate() == 0) }
        broker.end()
        try FileManager.default.removeItem(atPath: home)
    }
}
