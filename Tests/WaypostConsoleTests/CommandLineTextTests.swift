import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostConsole

/// The lines for the shell that pages show, run in a shell.
@Suite struct CommandLineTextTests {
    /// What someone, an agent or an app may be called, or say.
    static let words = [
        "plain", "", "it's", "a b", "$(touch x)", "`x`", "a\"b\\c", "ünï", "--x", "-", "*", "a;b", "a\nb",
        "a'\u{301}; touch x; '\u{301}", "'\u{20E3}", "'\u{200D}'", "~", "!!", "a\\", "#", "a\u{202E}b", "%s",
        "a\tb", "\r", "{a,b}", "$'x'", "--agent=k2", "=x", "é\u{301}",
    ]

    /// The words of each line, as a shell hands them to a program named `waypost`.
    private static func read(_ lines: [String]) async throws -> [[String]] {
        let program = #"waypost() { printf '%s\0' "$#" "$@"; }"# + "\n" + lines.joined(separator: "\n")
        let ending = try await Tool.run("bash", ["-c", program])
        var said = ending.output.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)[
            ...]
        var found: [[String]] = []
        while let count = said.popFirst().flatMap({ Int($0) }) {
            found.append(Array(said.prefix(count)))
            said = said.dropFirst(count)
        }
        return found
    }

    /// What the command line makes of words: arguments and options, as its parser does.
    private static func parsed(_ words: [String]) -> (arguments: [String], options: [String: [String]]) {
        var (arguments, options): ([String], [String: [String]]) = ([], [:])
        let flags: Set = ["--yes", "--allow-older", "--allow-refused", "--allow-inactive", "--unchecked"]
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" { return (arguments + rest, options) }
            guard word.hasPrefix("-"), word != "-" else {
                arguments.append(word)
                continue
            }
            if let mark = word.firstIndex(of: "=") {
                options[String(word[..<mark]), default: []].append(String(word[word.index(after: mark)...]))
            } else {
                options[word, default: []] += flags.contains(word) ? [] : [rest.popFirst() ?? "nothing"]
            }
        }
        return (arguments, options)
    }

    private static let shell = CommandLineText(
        place: [("profile", "prod"), ("ca-file", "/etc/my certs/ca.pem")], as: "ops")

    private static let changes: Changes? = {
        guard let settings = try? BackendConfiguration(broker: "mqtt://127.0.0.1:1", name: "ops") else {
            return nil
        }
        let backend = Backend(settings)
        return Changes(backend: backend, reader: FleetReader(backend), shell: shell)
    }()

    /// A line that a page shows: what it is made of, and what the program must get.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var make: @Sendable (_ changes: Changes, _ word: String) async throws -> String
        var verb: [String]
        var arguments: @Sendable (String) -> [String] = { _ in [] }
        var options: @Sendable (String) -> [String: [String]]
    }

    private static func text(_ answer: JSONValue) throws -> String {
        try #require(answer["command"]?.stringValue)
    }

    private static func json(_ value: JSONValue) -> String {
        String(decoding: value.serialized(), as: UTF8.self)
    }

    static let rows = [
        Row(
            testDescription: "open",
            make: { try text(await $0.perform("open", at: "-k1", ["url": .string($1)], isDry: true)) },
            verb: ["open"], arguments: { [$0] }, options: { _ in ["--agent": ["-k1"]] }),
        Row(
            testDescription: "open with parameters",
            make: {
                let body: JSONValue = ["url": "a://b", "parameters": ["p": .string($1)]]
                return try text(await $0.perform("open", at: "k1", body, isDry: true))
            }, verb: ["open"], arguments: { _ in ["a://b"] },
            options: { ["--agent": ["k1"], "--params": [json(["p": .string($0)])]] }),
        Row(
            testDescription: "call",
            make: {
                let body: JSONValue = [
                    "service": .string($1), "method": .string($1), "arguments": [.string($1)],
                ]
                return try text(await $0.perform("call", at: "k1", body, isDry: true))
            }, verb: ["call"], arguments: { [$0, $0] },
            options: { ["--agent": ["k1"], "--args": [json([.string($0)])]] }),
        Row(
            testDescription: "call with names",
            make: {
                let body: JSONValue = [
                    "service": "S", "method": .string($1), "arguments": ["a": .string($1)],
                ]
                return try text(await $0.perform("call", at: "k1", body, isDry: true))
            }, verb: ["call"], arguments: { ["S", $0] },
            options: { ["--agent": ["k1"], "--args": [json(["a": .string($0)])]] }),
        Row(
            testDescription: "level",
            make: {
                let body: JSONValue = ["level": "w", "for": 90_500, "tag": .string($1)]
                return try text(await $0.perform("level", at: "k1", body, isDry: true))
            }, verb: ["log"], arguments: { _ in ["W"] },
            options: { ["--agent": ["k1"], "--for": ["90500ms"], "--tag": [$0]] }),
        Row(
            testDescription: "cancel",
            make: { try text(await $0.perform("cancel", at: "k1", ["id": .string($1)], isDry: true)) },
            verb: ["cancel"], arguments: { [$0] }, options: { _ in ["--agent": ["k1"]] }),
        Row(
            testDescription: "ping",
            make: { changes, _ in
                try text(await changes.perform("ping", at: "--yes", .null, isDry: true))
            }, verb: ["ping"], options: { _ in ["--agent": ["--yes"]] }),
        Row(
            testDescription: "forget",
            make: { changes, _ in
                try text(await changes.perform("forget", at: "-k1", .null, isDry: true))
            }, verb: ["forget"], arguments: { _ in ["-k1"] }, options: { _ in ["--yes": []] }),
        Row(
            testDescription: "pause of a roll-out",
            make: { try text(await $0.steer("pause", "@-lobby", ["why": .string($1)], isDry: true)) },
            verb: ["rollout", "pause"],
            options: { ["--group": ["-lobby"], "--why": [$0.isEmpty ? "by hand" : $0]] }),
        Row(
            testDescription: "undo",
            make: { changes, _ in
                try text(await changes.undo(["target": "@-a", "revision": 7], isDry: true))
            }, verb: ["map", "undo"], options: { _ in ["--group": ["-a"], "--to": ["7"], "--yes": []] }),
        Row(
            testDescription: "relocate",
            make: { changes, _ in
                let document: JSONValue = ["type": "map", "rev": 1, "entries": []]
                let body: JSONValue = ["target": "-k1", "document": document, "allow": ["older"]]
                return try text(await changes.relocate(body, isDry: true))
            }, verb: ["relocate"],
            options: { _ in
                ["--agent": ["-k1"], "--file": ["map.json"], "--yes": [], "--allow-older": []]
            }),
    ]

    @Test(arguments: rows) func `a shell runs what the page means, whatever the words are`(_ row: Row)
        async throws
    {
        let changes = try #require(Self.changes)
        var lines: [(word: String, line: String)] = []
        for word in Self.words {
            do {
                lines.append((word, try await row.make(changes, word)))
            } catch is ViewError where word.isEmpty {
                // It is missing.
                continue
            }
        }
        let read = try await Self.read(lines.map(\.line))
        #expect(read.count == lines.count)
        for ((word, line), words) in zip(lines, read) {
            let found = Self.parsed(words)
            #expect(found.arguments == row.verb + row.arguments(word), "\(line)")
            let place = ["--profile": ["prod"], "--ca-file": ["/etc/my certs/ca.pem"], "--as": ["ops"]]
            #expect(found.options == row.options(word).merging(place) { $1 }, "\(line)")
            // The page draws it in one place, and it is copied from there.
            #expect(Array(words.joined().unicodeScalars).allSatisfy { $0 != "\0" })
        }
    }

    @Test func `what no line can have is refused`() async throws {
        let changes = try #require(Self.changes)
        await #expect(throws: ViewError.self) {
            try await changes.perform("open", at: "k1", ["url": "a://b\0c"], isDry: true)
        }
    }

    /// Where the page makes lines: each has a row above, or is a question.
    @Test func `each line of the console is made here`() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/WaypostConsole/Views")
        var verbs: [[String]] = []
        for file in ["Changes", "AskingViews"] {
            let text = try String(contentsOf: folder.appendingPathComponent("\(file).swift"), encoding: .utf8)
            for match in text.matches(of: #/shell\.line\(\s*\[([^\]]*)\]/#) {
                verbs.append(
                    match.1.split(separator: ",").map {
                        $0.trimmingCharacters(in: CharacterSet(charactersIn: "\" "))
                    })
            }
        }
        let known = Set(Self.rows.flatMap { [$0.verb.joined(separator: " "), $0.verb[0]] } + ["resolve"])
        for verb in verbs {
            #expect(verb.contains("action") || known.contains(verb.joined(separator: " ")), "\(verb)")
        }
        #expect(verbs.count >= 12)
    }
}
