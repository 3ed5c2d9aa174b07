import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `Explain a code` {
    /// The rows of the guide's table: number, name, what it means, what to do.
    private func rows() throws -> [[String]] {
        try guide().split(separator: "\n").compactMap { line in
            let cells = line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 6, Int(cells[0]) != nil else { return nil }
            return [cells[0], cells[1], cells[4], cells[5]].map { $0.replacingOccurrences(of: "`", with: "") }
        }
    }

    private func guide() throws -> String {
        let guide = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .appendingPathComponent("Sources/WaypostAgent/WaypostAgent.docc/Operating.md")
        return try String(contentsOf: guide, encoding: .utf8)
    }

    @Test func `says of a code of the application whose it is`() async throws {
        let ending = try await RunningCommand.run(["explain", "1404"])
        #expect(ending.status == 0)
        #expect(ending.output.first == "1404 of the application  failed or rejected")
        #expect(ending.output.contains { $0.contains("the program that runs in the agent has this code") })
    }

    @Test func `says of every code what the guide says`() async throws {
        let ending = try await RunningCommand.run(["explain", "--json"])
        #expect(ending.status == 0)
        let lines = try ending.output.map { try JSONValue(parsing: $0) }
        let shown = lines.filter { $0["check"] == nil }.map { json in
            let number = json["code"]?.intValue.map { "\($0)" } ?? ""
            return [number] + ["name", "means", "do"].map { json[$0]?.stringValue ?? "" }
        }
        let rows = try rows()
        #expect(shown == rows)
        #expect(Set(rows.map { $0[1] }) == Set(Code.all.map(\.name)))
        let checks = lines.filter { $0["check"] != nil }.map { json in
            ["check", "failsWhen", "do"].map { json[$0]?.stringValue ?? "" }
        }
        #expect(try checks == self.checks())
    }

    /// The rows of the guide's table of checks: name, when it fails, what to do.
    private func checks() throws -> [[String]] {
        let table = try guide().split(separator: "\n").drop { $0 != "| Check | Fails when | What to do |" }
        return table.dropFirst(2).prefix { $0.hasPrefix("|") && !$0.hasPrefix("| Counter") }.map { line in
            line.dropFirst().dropLast().split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "`", with: "")
            }
        }
    }

    @Test func `says of every health check what it means, and sends to no page`() async throws {
        for line in try await RunningCommand.run(["explain", "--json"]).output {
            guard let name = try JSONValue(parsing: line)["check"]?.stringValue else { continue }
            let ending = try await RunningCommand.run(["explain", name])
            #expect(ending.status == 0)
            // Some have the name of a code.
            #expect(ending.output.suffix(3).first == "\(name)  health check", "\(ending)")
        }
        let all = try await RunningCommand.run(["explain"]).output.joined(separator: "\n")
        for word in ["guide", "page", "see above", "Sizing"] { #expect(!all.contains(word), "\(word)") }
    }

    @Test func `finds it by number or name, and names the near one`() async throws {
        let number = try await RunningCommand.run(["explain", "409"])
        #expect(number.output.count { !$0.hasPrefix(" ") } == 3)
        let name = try await RunningCommand.run(["explain", "no_route"])
        #expect(name.status == 0 && name.output.first == "404 NO_ROUTE  rejected")
        #expect(name.output.contains { $0.hasPrefix("  do:    check the similar routes") })
        let near = try await RunningCommand.run(["explain", "NO_ROUT"])
        #expect(near.status == 64 && near.errorLines.joined().contains("did you mean NO_ROUTE"))
    }
}
