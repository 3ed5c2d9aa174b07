import CommandSupport
import TestSupport
import Testing
import Waypost

/// Secrets in what is sent to an agent, with everything that the process writes.
@Suite(.aFewAtATime, .timeLimit(.minutes(20))) struct SecretTests {
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
        #expect(try await site.agent.terminate() == 0)
        for seen in backend.seen where !seen.topic.contains("/cmd/") && !seen.text.contains("\"screen\"") {
            #expect(!seen.text.contains("hunter2"), "\(seen.topic) \(seen.text)")
        }
        for line in printed + site.agent.lines { #expect(!line.contains("hunter2"), "\(line)") }
        await backend.disconnect()
    }
}
