import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

@testable import WaypostCLI

/// An agent that answers and reports what it likes: a terminal obeys none of it.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct HostileTextTests {
    /// Title, colours, C1, direction, separators, tags; as they stand in JSON.
    private static let evil =
        #"evil\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\u061c\u2028\u2029\u007f\u0085\u200f\u2066\udb40\udc41\r\n\u0000end"#

    /// What is wrong with lines that were printed; nothing when nothing is.
    private func obeyed(_ lines: [String]) -> [String] {
        lines.filter { $0.unicodeScalars.contains(where: \.isUnsafeForTerminal) }.map(\.debugDescription)
    }

    /// Checks how a command ended: it printed what came, and nothing that a terminal obeys.
    private func check(_ ending: RunningCommand.Ending, status: Int32 = 1, _ command: [String]) {
        #expect(ending.status == status, "\(command): \(ending)")
        let lines = ending.output + ending.errorLines
        #expect(obeyed(lines).isEmpty, "\(command)")
        #expect(lines.contains { $0.contains("end") }, "\(command): \(lines)")
    }

    @Test(
        arguments: [
            ["open", "scheme://router/demo"], ["call", "S", "m"], ["cancel", "x"], ["log", "V"], ["ping"],
            ["replay"], ["bench", "--count", "1"],
        ], [[], ["--json"]])
    func `a refusal cannot write to the terminal`(_ verb: [String], _ options: [String]) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let arguments = verb + options + ["--agent", "k9", "--wait", "60s"]
        let command = try RunningCommand(arguments, environment: ["WAYPOST_BROKER": broker.url])
        try await backend.wait(for: "the command") { $0.contains { $0.topic.contains("/k9/cmd/") } }
        let seen = try #require(backend.seen.first { $0.topic.contains("/k9/cmd/") })
        let id = try #require(seen.json?["id"]?.stringValue)
        let sender = try #require(seen.topic.split(separator: "/").last)
        try await backend.publish(
            #"{"id":"\#(id)","type":"reply","status":"\#(Self.evil)","code":404,"name":"\#(Self.evil)","dup":false,"ms":-9223372036854775808,"attempt":9223372036854775807,"at":1e308,"result":{"\#(Self.evil)":"\#(Self.evil)"},"detail":"\#(Self.evil)","nearest":["\#(Self.evil)"]}"#
                .replacing("1e308", with: "9223372036854775807"),
            to: "waypost/v1/k9/reply/\(sender)")
        // What the bench measures has come; that it was a refusal is no failure of the bench.
        check(try await command.ending(), status: verb.first == "bench" ? 0 : 1, arguments)
        await backend.disconnect()
    }

    @Test(arguments: [[], ["--json"]])
    func `results, states, health and events cannot write to the terminal`(_ options: [String]) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let environment = ["WAYPOST_BROKER": broker.url]
        let evil = Self.evil
        try await backend.publish(
            #"{"state":"\#(evil)","epoch":1,"boot":"\#(evil)","why":"\#(evil)","agent":"\#(evil)","version":"\#(evil)","mqtt":5}"#,
            to: "waypost/v1/k9/state", retain: true)
        try await backend.publish(
            #"{"status":"\#(evil)","version":"\#(evil)","at":9223372036854775807,"uptime":-9223372036854775808,"epoch":9223372036854775807,"map":{"rev":9223372036854775807,"entries":-1,"inactive":9223372036854775807},"checks":[{"name":"\#(evil)","ok":false,"detail":"\#(evil)"}]}"#,
            to: "waypost/v1/k9/health", retain: true)
        for command in [["agents"], ["doctor", "--wait", "5s"]] {
            let ending = try await RunningCommand.run(command + options, environment: environment)
            #expect(obeyed(ending.output + ending.errorLines).isEmpty, "\(command)")
            #expect(ending.output.contains { $0.contains("k9") }, "\(command): \(ending)")
        }

        let before = broker.log.count { $0.contains("waypost/v1/+/fail (QoS") }
        let commands = try [["logcat"], ["watch"], ["logcat", "-v", "brief"], ["logcat", "--failures"]].map {
            try RunningCommand($0 + options, environment: environment)
        }
        try await broker.waitForLog(containing: "waypost/v1/+/fail (QoS", times: before + commands.count)
        try await backend.publish(
            #"{"t":9999999999999,"l":"\#(evil)","tag":"\#(evil)","boot":"\#(evil)","seq":1,"pid":-9223372036854775808,"tid":9223372036854775807,"msg":"\#(evil)","url":"\#(evil)","dropped":9223372036854775807}"#,
            to: "waypost/v1/k9/log/i")
        try await backend.publish(
            #"{"id":"\#(evil)","type":"fail","code":9223372036854775807,"name":"\#(evil)","where":"\#(evil)","url":"\#(evil)","detail":"\#(evil) failure","nearest":["\#(evil)x"],"ref":"\#(evil)","count":9223372036854775807}"#,
            to: "waypost/v1/k9/fail")
        for command in commands {
            try await command.printed("failure")
            command.send(signal: SIGTERM)
            check(try await command.ending(), status: 0, ["logcat"] + options)
        }

        let relocate = try RunningCommand(
            ["relocate", "--agent", "k9", "--delete", "scheme://router/demo", "--unchecked"] + options,
            environment: environment)
        try await backend.wait(for: "the patch") { $0.contains { $0.topic.hasSuffix("k9/map/patch") } }
        try await backend.publish(
            #"{"layers":[{"layer":"\#(evil)","rev":9223372036854775807,"digest":"\#(evil)","at":-1}],"entries":9223372036854775807,"inactive":[],"refused":{"layer":"patch","code":422,"name":"\#(evil)","detail":"\#(evil)","at":9223372036854775807}}"#,
            to: "waypost/v1/k9/map/applied")
        check(try await relocate.ending(), ["relocate"])
        await backend.disconnect()
    }

    @Test func `files and arguments that a message quotes cannot write to the terminal`() async throws {
        let text = String(try JSONValue(parsing: "\"\(Self.evil)\"").stringValue ?? "").replacing(
            "\0", with: "")
        let json = #"[{"path":"scheme://router/\#(Self.evil)","class":"\#(Self.evil)","priority":0}]"#
        let routes = try ScratchFile(json, name: "routes.json")
        for arguments in [
            [text], ["open", text, "--agent", text], ["open", "--\(text)", "x"],
            ["open", "x", "--agent", "k1", "--broker", "mqtt://\(text)"], ["log", text, "--agent", "k1"],
            ["agents", "--config", text], ["resolve", "--demo", text], ["resolve", "--demo", text, "--json"],
            ["check", "--routes", routes.path], ["resolve", "--cases", routes.path],
            ["routes", "--routes", routes.path], ["routes", "--routes", routes.path, "--format", "json"],
            ["routes", "--routes", routes.path, "--format", "plist"], ["routes", "--routes", text],
        ] {
            let ending = try await RunningCommand.run(arguments)
            let shown = (ending.output + ending.errorLines).map { $0.replacing("\t", with: " ") }
            #expect(!shown.isEmpty, "\(arguments)")
            #expect(obeyed(shown).isEmpty, "\(arguments)")
        }
    }
}
