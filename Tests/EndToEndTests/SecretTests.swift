import CommandSupport
import TestSupport
import Testing
import Waypost

/// Secrets in what is sent to an agent, with everything that the process writes.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct SecretTests {
    @Test func `a secret in a command is on no topic, in no log line and on no terminal`() async throws {
        let site = try await Site.open(["--demo", "--log-level", "d", "--redact-key", "pin"])
        let backend = try await Backend(broker: site.broker.url)
        let commands = [
            ["open", "scheme://router/none?password=hunter2&next=https%3A%2F%2Fx%3Ftoken%3Dhunter2"],
            ["open", "scheme://router/none", "--param", "pin=hunter2"],
            ["open", "scheme://me:hunter2@router/none#access_token=hunter2"],
            ["open", "scheme://router/demo?pin=hunter2", "--param", "jumpType=hunter2"],
            ["open", "https:\\\\hunter2@x?api_key=hunter2"],
            ["call", "CalculatorService", "add", "--args", #"["hunter2",2]"#],
            ["call", "CalculatorService", "add", "--args", #"{"a":1,"b":{"x":"hunter2"}}"#],
        ]
        var printed: [String] = []
        for (index, command) in commands.enumerated() {
            // Once as the agent refuses it, and once as it is refused before it is sent.
            for further in [["--id", "s\(index)", "--no-check"], []] {
                let ending = try await RunningCommand.run(
                    command + ["--agent", "k1", "--wait", "30s"] + further,
                    environment: ["WAYPOST_BROKER": site.broker.url])
                // What a handler returns is its own; the demo's route returns its parameters.
                if ending.status != 0 { printed += ending.output + ending.errorLines }
            }
        }
        try await backend.wait(for: "the failures") { seen in
            (0..<commands.count).allSatisfy { index in
                index == 3
                    || seen.contains { $0.topic.hasSuffix("/fail") && $0.text.contains("\"s\(index)\"") }
            }
        }
        // The bundle of one who collects it over the broker, and then that of the machine itself.
        let folder = site.broker.directory + "/bundle"
        let map =
            #"{"type":"map","rev":7,"entries":[{"routerType":1,"orginPath":"scheme://router/a","targetPath":"#
            + #""scheme://router/demo?pin=hunter2","params":{"pin":"hunter2"}}]}"#
        try await backend.publish(map, to: "waypost/v1/k1/map", retain: true)
        try await backend.wait(for: "the map") { seen in
            seen.contains { $0.topic.hasSuffix("/map/applied") && $0.text.contains("\"rev\":7") }
        }
        let environment = [
            "WAYPOST_BROKER": site.broker.url, "WAYPOST_USERNAME": "ops", "WAYPOST_PASSWORD": "hunter2",
            "WAYPOST_REDACT_KEY": "pin",
        ]
        printed += try await Self.collected(["--agent", "k1"], environment, in: folder)
        #expect(try await site.agent.terminate() == 0)
        printed += try await Self.collected(
            ["--agent", "k1", "--local", "--state", site.agent.directory], environment, in: folder)
        for seen in backend.seen
        where !seen.topic.contains("/cmd/") && !seen.topic.hasSuffix("/map")
            && !seen.text.contains("\"screen\"")
        {
            #expect(!seen.text.contains("hunter2"), "\(seen.topic) \(seen.text)")
        }
        for line in printed + site.agent.lines { #expect(!line.contains("hunter2"), "\(line)") }
        await backend.disconnect()
    }

    /// What a bundle has in it, as text.
    private static func collected(
        _ options: [String], _ environment: [String: String], in folder: String
    ) async throws -> [String] {
        let ending = try await RunningCommand.run(
            ["collect", "--output", folder + ".tar.gz"] + options, environment: environment)
        #expect(ending.status == 0, "\(ending)")
        let files = try await Tool.run("tar", ["-xzOf", folder + ".tar.gz"])
        #expect(files.status == 0 && files.output.contains(#""file":"sender.json""#), "\(files.output)")
        return ending.output + ending.errorLines + [files.output]
    }
}
