import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend

/// `DemoServices.swift` is what `waypost generate swift` writes for the demo; here it calls the demo's agent.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct DemoServicesTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "DemoServices.swift")

    @Test func `the generated file is that of the demo's contract`() async throws {
        let described = try await CommandProcess(["describe", "--demo", "--json"]).ending()
        let contract = NSTemporaryDirectory() + "contract-\(UUID().uuidString).json"
        try described.output.joined(separator: "\n").write(
            toFile: contract, atomically: true, encoding: .utf8)
        let generated = try await CommandProcess(["generate", "swift", "--contract", contract]).ending()
        #expect(generated.status == 0)
        let text = try String(contentsOf: Self.file, encoding: .utf8)
        #expect(generated.output == text.dropLast().components(separatedBy: "\n"))
    }

    @Test func `its methods call the agent's`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let process = try AgentProcess("k1", broker: broker.url)
        try await process.online()
        let configuration = try BackendConfiguration(broker: broker.url, name: "shop")
        try await WaypostBackend.Backend.with(configuration) { backend in
            let agent = backend.agent("k1")
            let sum = try await CalculatorService(agent).add(a: 2, b: 40)
            #expect(sum == 42)
            #expect(try await CalculatorService(agent).divide(a: 1, by: 4) == 0.25)
            #expect(try await LedgerService(agent).append(entry: "one") == 1)
            #expect(try await LedgerService(agent).put(key: "k", value: "v") == 2)
            #expect(try await LedgerService(agent).entries().count == 2)
            #expect(
                try await AppConfigServiceProtocol(agent).openMiniProgram(info: ["key": "value"]) != .null)
            let error = await #expect(throws: BackendError.self) {
                try await CalculatorService(agent).divide(a: 1, by: 0, SendOptions(id: "by-zero"))
            }
            #expect(error?.kind == .refused && error?.id == "by-zero")
        }
        _ = try await process.terminate()
    }
}
