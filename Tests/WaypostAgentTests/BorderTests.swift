import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// Each limit of the wire protocol at its border: what just fits is taken, and one more is not.
@Suite(.timeLimit(.minutes(60))) struct BorderTests {
    /// A limit, and what is tried with a size of it.
    struct Border: Sendable, CustomTestStringConvertible {
        var name: String
        var limit: Int
        /// What the page says, where that is a part of all, or what is left when others have theirs.
        var page: Int
        var isTaken: @Sendable (Int) async throws -> Bool

        init(
            name: String, limit: Int, page: Int? = nil,
            isTaken: @escaping @Sendable (Int) async throws -> Bool
        ) {
            (self.name, self.limit, self.page, self.isTaken) = (name, limit, page ?? limit, isTaken)
        }

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

    @Test(arguments: held) func `what is kept, counted or waited for goes to its limit and no further`(
        _ border: Border
    ) async throws {
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
        Trial(name: "bytes of a packet", limit: AgentLimits().packetBytes) { agent, size, id in
            // Topic and properties have a kibibyte of it.
            let reply = size - 1_024
            func send(_ id: String, _ count: Int) async throws -> (bytes: Int, isOK: Bool) {
                let before = agent.published.events.count
                agent.receive(
                    "{\"id\":\"\(id)\",\"type\":\"open\",\"url\":\"a://long?count=\(count)\"}",
                    on: "waypost/v1/k1/cmd/me")
                return try await agent.published.first("the reply to \(id)", after: before) { message in
                    message.topic == "waypost/v1/k1/reply/me" && message.payload.count > 0
                        ? (message.payload.count, !text(message).contains("\"code\":413")) : nil
                }
            }
            // How long a reply is around its value; ids and counts of one length.
            let around = try await send("a\(100 + (Int(id) ?? 0))", 1_000_000).bytes - 1_000_000
            let (bytes, isOK) = try await send("b\(100 + (Int(id) ?? 0))", reply - around)
            return isOK && bytes == reply
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
        try router.register("a://long") { context in
            .opened(.string(String(repeating: "a", count: try context.parameters.value("count"))))
        }
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

    /// The rows of the page's table, each with the borders that try its numbers.
    private static let rows: [String: [String]] = [
        "a command": ["bytes of a command"], "a map or a patch": ["bytes of a map", "entries of a map"],
        "nesting, keys of an object, a string": [
            "nesting of a command", "keys of parameters", "bytes of a parameter", "nesting",
            "keys of an object", "bytes of a string",
        ],
        "a URL": ["bytes of a URL"], "redirects in a row": ["redirects in a row"],
        "messages of one sender": [
            "messages of a sender in a second", "messages of a sender at once",
            "messages that are read at once",
        ],
        "events": ["events in a second", "events at once"],
        "reports on disk": ["reports on disk", "bytes of reports on disk"],
        "ids that are remembered": ["ids"],
        "commands that wait or run": ["commands that wait", "bytes of commands that wait"],
        "the state file": ["bytes of the state file"],
        "of ids, waiting commands, the state file and reports for one sender": [
            "ids of a sender", "commands of a sender that wait", "bytes of a sender's commands that wait",
            "bytes of a sender on disk", "reports of a sender", "bytes of a sender's reports",
        ],
        "correlation data that is returned": ["correlation data that is returned"],
        "starts of a command without a result": ["starts of a command"],
        "a packet that is sent": ["bytes of a packet"],
        "messages in memory that are not stored": ["bytes that are not stored"],
        "a handler's time": ["milliseconds of a handler"],
        "time between two attempts to connect": [
            "milliseconds to the first attempt", "milliseconds to any attempt",
            "milliseconds of a stable connection",
        ],
    ]

    /// The numbers in a cell of the page: `64 KiB`, `2 000 entries`, `a quarter`, times in milliseconds.
    private static func numbers(in cell: String) -> [Int] {
        if cell == "a quarter" { return [25] }
        return cell.matches(of: #/(\d+(?: \d{3})*(?:\.\d+)?)(?: (KiB|MiB|s\b))?/#).compactMap { match in
            let number = Double(match.1.filter { $0 != " " }) ?? .nan
            let unit: Double =
                switch match.2 {
                case "KiB": 1_024
                case "MiB": 1_048_576
                case "s": 1_000
                default: 1
                }
            return Int(exactly: number * unit)
        }
    }

    @Test func `each number of the page's table has its border, and is that of the border`() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: folder.deletingLastPathComponent().appendingPathComponent(
                "Sources/WaypostAgent/WaypostAgent.docc/WireProtocol.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "\n## Limits\n").last)
        let cells = section.components(separatedBy: "\n## ")[0].split(separator: "\n")
            .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| What ") }
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        #expect(Set(cells.map { $0[0] }) == Set(Self.rows.keys))
        let tried = Dictionary(
            uniqueKeysWithValues: (Self.read + Self.held).map { ($0.name, $0.page) }
                + Self.trials.map { ($0.name, $0.limit) })
        for cell in cells {
            let names = try #require(Self.rows[cell[0]])
            for name in names { #expect(tried[name] != nil, "no border: \(name)") }
            // Each number is that of a border, and each border that of a number.
            #expect(
                Set(Self.numbers(in: cell[1])) == Set(names.compactMap { tried[$0] }),
                "\(cell[0]): \(cell[1])")
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
