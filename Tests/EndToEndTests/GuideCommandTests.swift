import ArgumentParser
import Foundation
import Testing
import WaypostMessages

@testable import WaypostCLI

/// The pages for who is on call name verbs and options that there are.
@Suite struct GuideCommandTests {
    private static func page(_ name: String) throws -> String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/WaypostAgent/WaypostAgent.docc")
        return try String(contentsOf: folder.appendingPathComponent("\(name).md"), encoding: .utf8)
    }

    /// What stands for something in a command.
    private static let examples = [
        "NAME": "kiosk-7", "GROUP": "lobby", "ID": "c1", "CODE": "404", "OLD": "a://old", "NEW": "a://new",
        "URL": "a://x", "LEVEL": "W", "FILE": "map.json", "REV": "41",
    ]

    /// The words of each command on a page: in backquotes, or a line of a block.
    private static func commands(on page: String) throws -> [[String]] {
        var found = page.matches(of: /`(waypost [^`\n]+)`/).map { String($0.output.1) }
        found += page.split(separator: "\n").filter { $0.hasPrefix("waypost ") }.map(String.init)
        return found.map { line in
            // Without what a pipe leads to.
            line.prefix { $0 != "|" }.matches(of: /'([^']*)'|"([^"]*)"|(\S+)/).map { match in
                let word = String(match.output.1 ?? match.output.2 ?? match.output.3 ?? "")
                return Self.examples[word] ?? word
            }
        }
    }

    @Test(arguments: ["AtThreeInTheMorning", "Roles", "OnCall"])
    func `each command of a page is one`(page: String) async throws {
        let commands = try Self.commands(on: Self.page(page))
        #expect(commands.count > 3)
        for words in commands {
            let line = words.joined(separator: " ")
            // A verb that is only named.
            let verb = Array(words.dropFirst())
            if Verbs.all.contains(verb) || Verbs.families.contains(verb.joined(separator: " ")) { continue }
            do {
                _ = try await WaypostCommand.asyncParseAsRoot(verb)
            } catch {
                let status = WaypostCommand.exitCode(for: error)
                #expect(status.isSuccess, "\(line): \(WaypostCommand.message(for: error))")
            }
        }
    }

    @Test func `the pages name the version that there is`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let pages =
            try FileManager.default.subpathsOfDirectory(atPath: root.path(percentEncoded: false) + "/Sources")
            .filter { $0.hasSuffix(".md") }.map { "Sources/" + $0 } + ["README.md"]
        for page in pages {
            let text = try String(contentsOf: root.appendingPathComponent(page), encoding: .utf8)
            for match in text.matches(of: /from: "([0-9.]+)"|waypost(?:-agent|-console)?_([0-9.]+)_/) {
                let version = match.output.1 ?? match.output.2 ?? ""
                #expect(version == Version.current, "\(page): \(match.output.0)")
            }
        }
    }

    /// Lines of the guide for brokers are those with which `scripts/cluster` starts its nodes.
    @Test func `what a page sets at a broker is set where that broker is tried`() throws {
        let cluster = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .deletingLastPathComponent()
                .appendingPathComponent("ClusterTests/cluster.py"), encoding: .utf8)
        // Nodes that are killed part no network, and there every client is a guest.
        let untried: Set = ["cluster_partition_handling", "mqtt.allow_anonymous"]
        let table = try Self.page("OperatingRabbitMQ").matches(of: /(?m)^\| `(([a-z_.]+) = [^`]+)`/)
        #expect(table.count > 4)
        for line in table where !untried.contains(String(line.output.2)) {
            #expect(cluster.contains("\"\(line.output.1)\""), "\(line.output.1)")
        }
        let mqtt = try #require(
            try Self.page("OperatingNATS").firstMatch(of: /(?m)^mqtt \{ (.+) \}$/)?.output.1)
        for setting in mqtt.split(separator: ", ") where !setting.hasPrefix("listen:") {
            let text = setting.replacing("stream_replicas: 3", with: "stream_replicas: {len(names)}")
            #expect(cluster.contains(text), "\(setting)")
        }
    }

    @Test func `the page of roles says of each verb with which one`() throws {
        let page = try Self.page("Roles")
        let named = Set(page.matches(of: /`([a-z -]+)`/).map { String($0.output.1) })
        let missing = Verbs.all.filter { verb in
            !named.contains(verb.joined(separator: " ")) && !named.contains(verb[0])
        }
        #expect(missing.isEmpty, "\(missing)")
    }
}
