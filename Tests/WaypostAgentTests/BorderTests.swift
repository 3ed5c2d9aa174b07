import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// Each limit of the wire protocol at its border: what just fits is taken, and one more is not.
@Suite(.timeLimit(.minutes(10))) struct BorderTests {
    /// A limit, and what is tried with a size of it.
    struct Border: Sendable, CustomTestStringConvertible {
        var name: String
        var limit: Int
        var isTaken: @Sendable (Int) async throws -> Bool

        var testDescription: String { "\(name), \(limit)" }
    }

    // MARK: Read

    static let read: [Border] = [
        Border(name: "bytes of JSON", limit: JSONLimits.protocolDefaults.maximumBytes) { size in
            parses("0" + String(repeating: " ", count: size - 1))
        },
        Border(name: "nesting", limit: JSONLimits.protocolDefaults.maximumDepth) { depth in
            parses(String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
        },
        Border(name: "keys of an object", limit: JSONLimits.protocolDefaults.maximumKeys) { count in
            parses("{\((0..<count).map { "\"k\($0)\":0" }.joined(separator: ","))}")
        },
        Border(name: "bytes of a string", limit: JSONLimits.protocolDefaults.maximumStringBytes) { size in
            parses("\"\(String(repeating: "a", count: size))\"")
        },
        Border(name: "bytes of a string, escaped", limit: JSONLimits.protocolDefaults.maximumStringBytes) {
            size in
            parses("\"\(String(repeating: "a", count: size - 1))\\n\"")
        },
        Border(name: "bytes of a name", limit: Name.maximumBytes) {
            Name.isValid(String(repeating: "a", count: $0))
        },
        Border(name: "bytes of a root", limit: 200) {
            Topics(root: String(repeating: "a", count: $0)) != nil
        },
        Border(name: "bytes of a query", limit: LogQuery.maximumBytes) { size in
            (try? LogQuery(forAgent: String(repeating: "a", count: size))) != nil
        },
        Border(name: "bytes of a control document", limit: RolloutControl.maximumBytes) { size in
            let document = try control { _ in }.encoded()
            return (try? RolloutControl(document + [UInt8](repeating: 0x20, count: size - document.count)))
                != nil
        },
        Border(name: "stages of a roll-out", limit: RolloutStage.maximumStages) { count in
            let document = try control { $0.stages = (1...count).map { .count($0) } }.encoded()
            return (try? RolloutControl(document)) != nil
        },
        Border(name: "names of a roll-out", limit: RolloutControl.maximumNames) { count in
            let document = try control { $0.include = (0..<count).map { "k\($0)" } }.encoded()
            return (try? RolloutControl(document)) != nil
        },
        Border(name: "agents of a stage", limit: 1_000_000) { RolloutStage("\($0)") != nil },
        Border(name: "per cent of a stage", limit: 100) { RolloutStage("\($0)%") != nil },
        Border(name: "tokens of a bucket", limit: 100) { count in
            var bucket = TokenBucket(rate: 1, burst: 100, at: 0)
            return (0..<count).allSatisfy { _ in bucket.take(at: 0) }
        },
        Border(name: "tokens that come again", limit: 40) { count in
            var bucket = TokenBucket(rate: 10, burst: 100, at: 0)
            bucket.owe(100)
            return (0..<count).allSatisfy { _ in bucket.take(at: 4_000) }
        },
    ]

    private static func parses(_ text: String) -> Bool {
        (try? JSONValue(parsing: Array(text.utf8), limits: .protocolDefaults)) != nil
    }

    private static func control(_ change: (inout RolloutControl) -> Void) throws -> RolloutControl {
        var control = RolloutControl(
            id: "r-7", epoch: 3, sequence: 12, audience: "@lobby", at: 1_795_216_999_000,
            base: .init(revision: 41, digest: "sha256:a"), next: .init(revision: 42, digest: "sha256:b"),
            below: 0x0ccc_cccc_cccc_cccc)
        change(&control)
        return control
    }

    @Test(arguments: read) func `what is read has the size of its limit at most`(_ border: Border)
        async throws
    {
        try await expect(border)
    }

    private func expect(_ border: Border) async throws {
        #expect(try await border.isTaken(border.limit - 1), "one below")
        #expect(try await border.isTaken(border.limit), "at the limit")
        #expect(try await !border.isTaken(border.limit + 1), "one above")
    }

    // MARK: At an agent

    /// What a message of so many of something leads to at an agent.
    private struct Trial: Sendable {
        var name: String
        var limit: Int
        var send: @Sendable (AgentHarness, _ size: Int, _ id: String) async throws -> Bool
    }

    private static let trials: [Trial] = [
        Trial(name: "bytes of a command", limit: AgentLimits().commandBytes) { agent, size, id in
            try await ends(agent, id, padded("{\"id\":\"\(id)\",\"type\":\"ping\"}", to: size))
        },
        Trial(name: "bytes of a URL", limit: 2_048) { agent, size, id in
            let url = "a://x?q="
            return try await opens(agent, id, url + String(repeating: "b", count: size - url.utf8.count))
        },
        Trial(name: "nesting of a command", limit: AgentLimits().json.maximumDepth) { agent, depth, id in
            let (open, close) = (
                String(repeating: "[", count: depth - 2), String(repeating: "]", count: depth - 2)
            )
            return try await opens(agent, id, "a://x", "{\"p\":\(open)\(close)}")
        },
        Trial(name: "keys of parameters", limit: AgentLimits().json.maximumKeys) { agent, count, id in
            try await opens(
                agent, id, "a://x", "{\((0..<count).map { "\"k\($0)\":0" }.joined(separator: ","))}")
        },
        Trial(name: "bytes of a parameter", limit: AgentLimits().json.maximumStringBytes) { agent, size, id in
            try await opens(agent, id, "a://x", "{\"p\":\"\(String(repeating: "a", count: size))\"}")
        },
        Trial(name: "correlation data that is returned", limit: AgentLimits.correlationBytes) {
            agent, size, id in
            let data = [UInt8](repeating: 7, count: size)
            agent.receive(
                "{\"id\":\"\(id)\",\"type\":\"ping\"}", on: "waypost/v1/k1/cmd/me",
                properties: MQTTProperties(correlationData: data))
            return try await agent.published.first("the reply to \(id)") { message -> Bool? in
                guard message.topic == "waypost/v1/k1/reply/me", text(message).contains("\"\(id)\"") else {
                    return nil
                }
                return message.properties.correlationData == data
            }
        },
        Trial(name: "bytes of a map", limit: AgentLimits().mapBytes) { agent, size, id in
            try await applies(agent, padded(map(id, entries(1)), to: size), id)
        },
        Trial(name: "entries of a map", limit: MapDocument.maximumEntries) { agent, count, id in
            try await applies(agent, map(id, entries(count)), id)
        },
        Trial(name: "redirects in a row", limit: 8) { agent, count, id in
            let chain = (1...count).map { number in
                redirect("a://r\(number)", number == count ? "a://x" : "a://r\(number + 1)")
            }
            return try await applies(agent, map(id, chain), id)
        },
    ]

    @Test func `what an agent takes has the size of its limit at most`() async throws {
        let router = Router()
        try router.register("a://x") { _ in .opened() }
        let agent = try await AgentHarness(router: router) { $0.limits.mapRate = 0 }
        var number = 0
        for trial in Self.trials {
            for (more, isWanted) in [(-1, true), (0, true), (1, false)] {
                number += 1
                let isTaken = try await trial.send(agent, trial.limit + more, "\(number)")
                #expect(isTaken == isWanted, "\(trial.name): \(trial.limit + more)")
            }
        }
        try await agent.close()
    }

    // MARK: The page

    /// The rows of the page's table, each with what tries it: a border above, or a test by its name.
    private static let rows: [String: [String]] = [
        "a command": ["bytes of a command"], "a map or a patch": ["bytes of a map", "entries of a map"],
        "nesting, keys of an object, a string": [
            "nesting of a command", "keys of parameters", "bytes of a parameter", "nesting",
            "keys of an object",
            "bytes of a string",
        ],
        "a URL": ["bytes of a URL"], "redirects in a row": ["redirects in a row"],
        "messages of one sender": [
            "tokens of a bucket",
            "gives a whole burst at once, then one when its time is over, and never more than a burst",
        ],
        "events": [
            "tokens that come again",
            "wait for the broker up to a limit, and the oldest of the lowest level goes first",
        ],
        "reports on disk": [
            "reports beyond the limit are counted exactly, and the count is reported once there is space"
        ],
        "ids that are remembered": ["when the table of ids is full new commands are refused"],
        "commands that wait or run": ["gets its reply when too many commands wait"],
        "the state file": ["one sender holds no more than its share, all together the limit"],
        "of ids, waiting commands, the state file and reports for one sender": [
            "that fills its share of the ids gets BUSY, the others do not, and health is red from 80 %",
            "fills its share of the outbox with reports and no more, and the others' commands run",
        ],
        "correlation data that is returned": ["correlation data that is returned"],
        "starts of a command without a result": ["is no attempt when another one ends the agent"],
        "a packet that is sent": [
            "a result beyond the broker's limit becomes a 413 that says so, and stays one"
        ],
        "messages in memory that are not stored": ["what is not stored is dropped beyond its limit"],
        "a handler's time": ["are cancelled at their deadline though no thread for handlers is free"],
        "time between two attempts to connect": ["full jitter spreads a thousand links over the whole delay"],
    ]

    @Test func `each limit of the page's table is tried`() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: folder.deletingLastPathComponent().appendingPathComponent(
                "Sources/WaypostAgent/WaypostAgent.docc/WireProtocol.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "\n## Limits\n").last)
        let listed = section.components(separatedBy: "\n## ")[0].split(separator: "\n")
            .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| What ") }
            .map { $0.split(separator: "|")[0].trimmingCharacters(in: .whitespaces) }
        #expect(Set(listed) == Set(Self.rows.keys))
        let borders = Set(Self.read.map(\.name) + Self.trials.map(\.name))
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let texts = try (files?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.pathExtension == "swift" && !$0.path.contains("BorderTests") }
            .map { try String(contentsOf: $0, encoding: .utf8) }
        for name in Self.rows.values.joined() where !borders.contains(name) {
            #expect(texts.contains { $0.contains("func `\(name)`") }, "no test: \(name)")
        }
    }

    private static func text(_ message: MQTTMessage) -> String {
        String(decoding: message.payload, as: UTF8.self)
    }

    private static func padded(_ json: String, to size: Int) -> String {
        json + String(repeating: " ", count: size - json.utf8.count)
    }

    private static func opens(
        _ agent: AgentHarness, _ id: String, _ url: String, _ params: String = "{}"
    ) async throws -> Bool {
        try await ends(
            agent, id, "{\"id\":\"\(id)\",\"type\":\"open\",\"url\":\"\(url)\",\"params\":\(params)}")
    }

    /// Whether a command succeeds; one that is too large is reported, and not answered when its id is not known.
    private static func ends(_ agent: AgentHarness, _ id: String, _ command: String) async throws -> Bool {
        let before = agent.published.events.count
        agent.receive(command, on: "waypost/v1/k1/cmd/me")
        return try await agent.published.first("what became of \(id)", after: before) { message -> Bool? in
            let text = text(message)
            switch message.topic {
            case "waypost/v1/k1/reply/me" where text.contains("\"id\":\"\(id)\""):
                return text.contains("\"code\":0")
            case "waypost/v1/k1/fail" where text.contains("413"): return false
            default: return nil
            }
        }
    }

    private static func redirect(_ origin: String, _ target: String) -> String {
        "{\"routerType\":1,\"orginPath\":\"\(origin)\",\"targetPath\":\"\(target)\"}"
    }

    private static func entries(_ count: Int) -> [String] {
        (0..<count).map { redirect("a://o\($0)", "a://x") }
    }

    private static func map(_ revision: String, _ entries: [String]) -> String {
        "{\"type\":\"map\",\"rev\":\(revision),\"entries\":[\(entries.joined(separator: ","))]}"
    }

    private static func applies(_ agent: AgentHarness, _ map: String, _ revision: String) async throws -> Bool
    {
        let before = agent.published.events.count
        agent.receive(map, on: "waypost/v1/k1/map", retain: true)
        return try await agent.published.first("what became of map \(revision)", after: before) {
            message -> Bool? in
            switch message.topic {
            case "waypost/v1/k1/map/applied":
                let applied = try? JSONValue(parsing: message.payload, limits: .trustedFile)
                let layers = applied?["layers"]?.arrayValue ?? []
                return layers.contains { $0["rev"]?.intValue == Int64(revision) } ? true : nil
            case "waypost/v1/k1/fail": return false
            default: return nil
            }
        }
    }
}
