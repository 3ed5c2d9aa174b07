import Foundation
import Logging
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostAgent
import WaypostBackend
import WaypostTools

/// A service whose names are words of Swift, or are used by the generated file itself.
private struct HardNames: Sendable {
    /// Its cases are what no enum has by itself.
    enum Mode: String, Sendable, Codable, CaseIterable {
        case standard = "default"
        case nothing = ""
        case dash = "-"
        case fast = "very-fast"
        case itself = "self"
        case kind = "Type"
        case all = "allCases"
        case first = "1st"
        case hidden = "fileprivate"
    }

    // swift-format-ignore: TypeNamesShouldBeCapitalized
    enum `default`: String, Sendable, Codable, CaseIterable { case on, off }

    static let service = ExposedService("class", make: HardNames.init) {
        Exposed("init(in:)", idempotent: true) { (_: HardNames, mode: Mode) in mode }
        Exposed("self(func:_:)", idempotent: true) { (_: HardNames, value: `default`?, more: Int?) in
            value ?? (more == nil ? nil : .on)
        }
        Exposed("agent()", idempotent: true) { (_: HardNames) in "the agent" }
        Exposed("Type(options:agent:argument4:in:)", idempotent: true) {
            (_: HardNames, options: [Int]?, agent: [String: [Double?]], a: Bool?, b: UInt8) -> String in
            "\(options?.count ?? 0) \(agent.count) \(a.map { "\($0)" } ?? "nil") \(b)"
        }
        Exposed("repeat(String:await:)", idempotent: true) {
            (_: HardNames, text: String, times: Int?) -> [String]? in
            times.map { Array(repeating: text, count: $0) }
        }
        Exposed("throws(_:)") { (_: HardNames, json: JSONValue) in _ = json }
    }

    static let other = ExposedService("String", make: HardNames.init) {
        Exposed("default()", idempotent: true) { (_: HardNames) -> Int? in nil }
    }
}

/// `HardNames.swift` is what `waypost generate swift` writes for services with hard names; it compiles, and here it calls.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct HardNamesTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "HardNames.swift")

    private func router() throws -> Router {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.services.expose([HardNames.service, HardNames.other])
        return router
    }

    @Test func `the generated file is that of the services`() async throws {
        let contract = NSTemporaryDirectory() + "contract-\(UUID().uuidString).json"
        let described = RouterContract(services: try router().services.services)
        try Data(described.json.serialized()).write(to: URL(filePath: contract))
        let generated = try await CommandProcess(["generate", "swift", "--contract", contract]).ending()
        #expect(generated.status == 0, "\(generated.errorLines)")
        let text = try String(contentsOf: Self.file, encoding: .utf8)
        #expect(generated.output == text.dropLast().components(separatedBy: "\n"))
    }

    @Test func `its methods take and return enums, optionals and lists`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let state = NSTemporaryDirectory() + "waypost-hard-\(UUID().uuidString)"
        let link = MQTTLinkConfiguration(brokers: [try BrokerURL(broker.url)], clientID: "k1")
        let agent = try Agent(
            AgentConfiguration(agent: "k1", stateDirectory: state, link: link), router: router(),
            logger: Logger(label: "agent") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await agent.run() }
        let configuration = try BackendConfiguration(broker: broker.url, name: "shop")
        try await WaypostBackend.Backend.with(configuration) { backend in
            for try await status in backend.agentChanges() where status.isOnline == true { break }
            let service = `class`(backend.agent("k1"))
            for mode in `class`.Mode.allCases { #expect(try await service.`init`(in: mode) == mode) }
            #expect(try await service.self_(func: .off, nil) == .off)
            #expect(try await service.self_(nil, SendOptions(id: "nothing")) == nil)
            #expect(try await service.self_(7) == .on)
            #expect(try await service.agent() == "the agent")
            #expect(
                try await service.`Type`(options: [1, 2], agent: ["a": [0.5, nil]], in: 255) == "2 1 nil 255")
            #expect(try await service.`Type`(agent: [:], argument4: false, in: 0) == "0 0 false 0")
            #expect(try await service.`repeat`(String: "a", await: 2) == ["a", "a"])
            #expect(try await service.`repeat`(String: "a") == nil)
            try await service.`throws`(["any": "thing"])
            #expect(try await String2(backend.agent("k1")).`default`() == nil)
        }
        running.cancel()
        _ = await running.result
        try? FileManager.default.removeItem(atPath: state)
    }
}
