import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `The past on the command line` {
    @Test func `failures are grouped by code, URL and map, and one by one`() async throws {
        let site = try await Site.open()
        #expect(try await site.run("failures").output == ["no failures"])
        for query in ["", "?a=1", "?a=2"] {
            _ = try await site.run("open", "scheme://router/nowhere\(query)", "--agent", "k1", "--no-check")
        }
        let map = try ScratchFile(#"{"rev":3,"entries":[]}"#, name: "map.json")
        #expect(try await site.run("relocate", "--agent", "k1", "--file", map.path).status == 0)
        _ = try await site.run("open", "scheme://router/nowhere", "--agent", "k1", "--no-check")
        _ = try await site.run("call", "None", "m", "--agent", "k1", "--no-check")

        let table = try await site.run("failures")
        try #require(table.status == 0 && table.output.count == 4, "\(table.output)")
        #expect(
            table.output[1].hasPrefix("1      k1      ")
                && table.output[1].contains("404 NO_SERVICE  agent rev 3")
        )
        #expect(table.output[2].contains("agent rev 3  scheme://router/nowhere"))
        #expect(table.output[3].hasPrefix("3      k1      ") && table.output[3].contains("  -  "))
        let json = try await site.run("failures", "--json", "--agent", "k1")
        #expect(try json.output.map { try JSONValue(parsing: $0)["count"] } == [1, 1, 3])
        for (filter, count) in [
            (["--code", "404"], 3), (["--code", "no_service"], 1), (["--query", "url:nowhere ref:other"], 0),
            (["--code", "NO_ROUTE", "--code", "NO_SERVICE"], 3), (["--query", "url~:no[w]here"], 2),
        ] {
            let found = try await RunningCommand.run(
                ["failures", "--json"] + filter, environment: ["WAYPOST_BROKER": site.broker.url])
            #expect(found.output.count == count, "\(filter): \(found)")
        }
        let near = try await site.run("failures", "--code", "NO_ROUT")
        #expect(near.status == 64 && near.errorLines.joined().contains("did you mean NO_ROUTE"))
        let each = try await site.run("failures", "--each")
        #expect(each.output.count == 5 && each.output.last?.contains("NO_SERVICE") == true)
        #expect(
            try await site.run("failures", "--since", "2099-01-01 00:00").output.first?.hasPrefix(
                "no failures") == true)

        // Nothing is known of an agent that does not answer.
        let silent = try await site.run("failures", "--agent", "nosuch", "--wait", "1")
        #expect(silent.status == 3 && silent.output.isEmpty)
        #expect(try await site.run("failures", "--wait", "0").status == 64)
        #expect(try await site.agent.terminate() == 0)
    }

    @Test func `explain tells the way of a command to who names its sender`() async throws {
        let site = try await Site.open()
        _ = try await site.run(
            "open", "scheme://router/demo", "--agent", "k1", "--id", "c-17", "--as", "orders")
        let way = try await site.run("explain", "c-17", "--agent", "k1", "--of", "orders")
        #expect(way.status == 0)
        #expect(way.output.first?.hasPrefix("c-17 of orders to k1  ") == true)
        let steps = way.output.dropFirst().map { $0.split(separator: " ").first ?? "" }
        #expect(steps.starts(with: ["received", "started", "ended"]))
        let other = try await site.run("explain", "c-17", "--agent", "k1", "--as", "nobody")
        #expect(
            other.status == 1 && other.output.first?.hasPrefix("k1 knows no command c-17 of nobody") == true)
        // A code is a code, also where the environment names an agent.
        for environment in [[:], ["WAYPOST_AGENT": "k1"]] {
            let code = try await RunningCommand.run(["explain", "404"], environment: environment)
            #expect(code.output.first?.hasPrefix("404 NO_ROUTE") == true)
            #expect(try await RunningCommand.run(["explain"], environment: environment).output.count > 30)
        }
        for wrong in [["explain", "404", "--of", "orders"], ["explain", "c-17"]] {
            #expect(try await RunningCommand.run(wrong).status == 64, "\(wrong)")
        }
        #expect(try await site.agent.terminate() == 0)
    }
}
