import CommandSupport
import Foundation
import TestSupport
import Testing

@testable import WaypostCLI

/// A command in the test's process is the program: what it prints, returns and reads is what its process would.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct InvocationTests {
    struct Line: Sendable, CustomTestStringConvertible {
        var words: [String]
        var environment: [String: String] = [:]
        var input: String?
        var testDescription: String { words.joined(separator: " ") }
    }

    private static let nobody = "mqtt://127.0.0.1:1"

    @Test(arguments: [
        Line(words: ["--version"]), Line(words: ["--help"]), Line(words: ["frobnicate"]), Line(words: []),
        Line(words: ["help", "limits"], environment: ["COLUMNS": "50"]),
        Line(words: ["open", "--hlep"]), Line(words: ["rollout", "start", "--help"]),
        Line(words: ["ping", "--agent", "k1", "--json"], environment: ["WAYPOST_BROKER": nobody]),
        Line(words: ["ping"], environment: ["WAYPOST_WAIT": "soon", "WAYPOST_PASWORD_FILE": "x"]),
        Line(
            words: ["resolve", "--cases", "-", "--demo"], input: #"{"open":"scheme://router/user/7"}"# + "\n{"
        ),
        Line(words: ["check", "--demo"]), Line(words: ["routes", "--demo", "--format", "json"]),
        Line(words: ["forget", "k1"], environment: ["WAYPOST_BROKER": nobody, "USER": "eva"]),
        Line(words: ["profile", "list"], environment: ["HOME": "", "XDG_CONFIG_HOME": ""]),
    ])
    func `prints the same bytes on both outputs and has the same status as a process`(_ line: Line)
        async throws
    {
        let own = try await RunningCommand.run(line.words, environment: line.environment, input: line.input)
        let process = try await CommandProcess.run(
            line.words, environment: line.environment, input: line.input)
        #expect(own.output == process.output)
        #expect(own.errorLines == process.errorLines)
        #expect(own.status == process.status)
    }

    @Test(arguments: [(SIGINT, Int32(130)), (SIGTERM, Int32(143))], [true, false])
    func `a signal ends it with the status of its process`(
        _ signal: (number: Int32, status: Int32), isProcess: Bool
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let words = ["ping", "--agent", "nobody", "--wait", "1h", "--broker", broker.url]
        let command: any ObservedCommand =
            isProcess ? try CommandProcess(words) : try RunningCommand(words)
        try await broker.waitForLog(containing: "/nobody/cmd/")
        command.send(signal: signal.number)
        let ending = try await command.ending()
        #expect(ending.status == signal.status, "\(ending)")
    }

    @Test func `agents side by side have their own lines, those of the links' threads too`() async throws {
        let brokers = try await (TestBroker.start(), TestBroker.start())
        defer { for broker in [brokers.0, brokers.1] { broker.end() } }
        let first = try RunningAgent("k1", broker: brokers.0.url)
        let second = try RunningAgent("k2", broker: brokers.1.url)
        for agent in [first, second] { try await agent.online() }
        try await brokers.0.stop()
        try await first.printed("next try in")
        #expect(try await second.terminate() == 0)
        #expect(!second.lines.contains { $0.contains("next try in") }, "\(second.lines)")
        try await brokers.0.start()
        try await first.online(times: 2)
        #expect(try await first.terminate() == 0)
        #expect(first.lines.contains { $0.contains("k1") } && !first.lines.contains { $0.contains("k2") })
        #expect(second.lines.contains { $0.contains("k2") } && !second.lines.contains { $0.contains("k1") })
    }

    @Test func `who follows ends when its reader leaves, before there is anything to print`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let ending = try await RunningCommand.run(["logcat", "--broker", broker.url], output: .unread)
        #expect(ending.status == 0, "\(ending)")
    }

    @Test(arguments: [["console"], ["demo"], ["agent", "--agent", "k1", "--metrics", "127.0.0.1:0"]])
    func `what concerns the whole process is refused where others run in it`(_ words: [String]) async throws {
        let state = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: state) }
        let ending = try await RunningCommand.run(words + (words[0] == "agent" ? ["--state", state] : []))
        #expect(ending.status == 1)
        #expect(ending.errorLines.last?.hasSuffix(" needs a process of its own") == true, "\(ending)")
    }

    @Test func `the program takes nothing from the process that a run has of its own`() async throws {
        let forbidden =
            #"STD(IN|OUT|ERR)_FILENO|\bgetenv\(|ProcessInfo\.|CommandLine\.|\breadLine\(|[^_.\w]exit\(|\babort\(|chdir\(|setenv\(|LoggingSystem\.|Task\.detached"#
        // What makes a run of the process, what is before all runs, and what holds the sources of another program.
        let exempt = [
            "/Invocation.swift", "/WaypostProgram+Main.swift", "/Descriptor.swift", "/NewPackage.swift",
        ]
        let found = try await SourceLines.matching(forbidden, in: "WaypostCLI").filter { file, _ in
            !exempt.contains(where: file.hasSuffix)
        }
        #expect(found.isEmpty, "\(found)")
    }
}
