import CommandSupport
import Foundation
import TestSupport
import Testing

@testable import WaypostCLI

/// The name of an agent that is made of what its machine is called.
@Suite(.timeLimit(.minutes(60))) struct AgentNameTests {
    private func read(_ text: String, _ environment: [String: String] = [:]) throws -> String {
        let file = NSTemporaryDirectory() + "waypost-machine-\(UUID().uuidString)"
        try Data("0123456789abcdef0123456789abcdef\n".utf8).write(to: URL(fileURLWithPath: file))
        return try AgentName.read(text, environment: environment, machineID: file)
    }

    @Test func `has the parts of its machine`() throws {
        #expect(try read("kiosk-7") == "kiosk-7")
        #expect(try read("k-%m") == "k-0123456789abcdef0123456789abcdef")
        #expect(try read("k-%i", ["WAYPOST_INSTANCE": "floor2"]) == "k-floor2")
        let host = ProcessInfo.processInfo.hostName.split(separator: ".").first ?? ""
        #expect(try read("%H") == host)
    }

    @Test(arguments: [
        ("k-%i", "no id, name or instance"), ("k-%x", "%x is none of %m, %H and %i"), ("k-%", "% is none of"),
        ("a b", "must be 1 to 64 characters"), ("", "must be 1 to 64 characters"),
        ("%m%m%m", "which is"),
    ])
    func `that is none says so`(text: String, reason: String) {
        let error = #expect(throws: CommandError.self) { try read(text) }
        #expect(error.map { "\($0)".contains(reason) } == true, "\(error.map { "\($0)" } ?? "")")
    }

    @Test func `that is missing is told how to be written`() async throws {
        let run = try await RunningCommand.run(["agent"], environment: [:])
        #expect(run.status == 64 && run.errorLines.joined().contains("--agent kiosk-%H"), "\(run)")
    }
}
