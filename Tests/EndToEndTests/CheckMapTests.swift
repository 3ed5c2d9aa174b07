import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// `waypost check --map`: every mistake of a map in one run, where it stands, in every format.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
final class CheckMapTests {
    private let directory = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)"
    private static let routes = """
        [{"path":"app://home","class":"Home"},
         {"path":"app://user/:id","class":"User"},
         {"path":"app://old","class":"Old"}]
        """

    init() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    @Test func `a map is read to its end, and what is wrong stands in the order of the file`() async throws {
        let map = """
            {"type": "map", "rev": 0, "entries": [
              {"routerType": 5, "orginPath": "app://a", "targetPath": "app://home"},
              {"routerType": 1, "orginPath": "app://loop/a", "targetPath": "app://loop/b"},
              {"routerType": 1, "orginPath": "app://loop/b", "targetPath": "app://loop/a"},
              {"routerType": 1, "orginPath": "app://into", "targetPath": "app://loop/a"},
              {"routerType": 1, "orginPath": "app://b", "targetPath": "app://hoome"},
              {"routerType": 1, "orginPath": "app://c", "params": [1],
               "targetPath": 7},
              {"routerType": 1, "orginPath": "app://b", "targetPath": "app://home"},
              {"routerType": 1, "orginPath": "app//old/item", "targetPath": "app://home"},
              {"routerType": 4, "orginPath": "app://nothing"},
              {"routerType": 1, "orginPath": "app://u/{id}", "targetPath": "app://home"},
              {"routerType": 1, "orginPath": "app://d", "targetPath": "app://a"},
              {"routerType": 1, "orginPath": "app://e", "targetPath": "scheme://services"},
              {"routerType": 2, "path": "app://f", "className": "Nobody"},
              {"routerType": 3, "path": "app://gone"},
              {"routerType": 1, "orginPath": "app://old", "targetPath": "app://home"}
            ]}
            """
        let ending = try await check(map)
        #expect(ending.status == 1)
        let wanted = [
            "routes.json:3:2: redirected: app://old is not opened: a redirect leads to app://home",
            "map.json:1:24: refused: rev must be 1 to 9007199254740991; found 0",
            "map.json:2:18: refused: entry 1 of 15 (app://a): routerType is 5; it must be 1, 2, 3 or 4, or a name: off, on, answer, replace, gate",
            "map.json:3:64: cycle: entry 2 of 15 (app://loop/a): redirects form a cycle: "
                + "app://loop/a → app://loop/b → app://loop/a; see map.json:4:64",
            "map.json:6:59: deadRedirect: entry 5 of 15 (app://b): no route matches app://hoome",
            "map.json:7:55: refused: entry 6 of 15 (app://c): params is an array; it must be an object",
            "map.json:8:18: refused: entry 6 of 15 (app://c): targetPath is an integer; it must be a string",
            "map.json:9:34: refused: entry 7 of 15 (app://b): app://b is the origin of entry 5 already; "
                + "see map.json:6:34",
            "map.json:10:34: deadOrigin: entry 8 of 15 (app//old/item): it has no scheme, so it matches no app:// "
                + "URL; did you mean app://old/item?",
            "map.json:11:34: deadReset: entry 9 of 15 (app://nothing): nothing redirects app://nothing in the "
                + "maps that were given",
            "map.json:12:34: deadOrigin: entry 10 of 15 (app://u/{id}): {id} is plain text here; write a placeholder "
                + "as :id",
            "map.json:14:59: refused: entry 12 of 15 (app://e): scheme://services is a service URL, which cannot "
                + "be relocated, deleted or gated; say it of the service: {\"routerType\":\"off\",\"service\":…}, or "
                + "answer or replace its methods",
            "map.json:15:53: unknownClass: entry 13 of 15 (app://f): no destination is named Nobody",
            "map.json:16:29: deadDeletion: entry 14 of 15 (app://gone): no route app://gone is registered",
            "3 routes, 15 map entries: 7 refusals, 6 problems, 1 note",
        ]
        #expect(ending.output.count == wanted.count)
        for (line, wanted) in zip(ending.output, wanted) {
            #expect(line.replacing("\(directory)/", with: "") == wanted)
        }
    }

    @Test func `what is no JSON is named by line and column, and the other map is checked all the same`()
        async throws
    {
        let other = try write("other.json", #"[{"routerType":3,"path":"app://gone"}]"#)
        let ending = try await check("[\n  {\"routerType\": 1,}\n]", "--map", other)
        #expect(ending.status == 1)
        #expect(
            ending.output.map { $0.replacing("\(directory)/", with: "") } == [
                "map.json:2:20: refused: the file is not JSON: expected a key in quotes",
                "other.json:1:25: deadDeletion: entry 1 of 1 (app://gone): no route app://gone is registered",
                "3 routes, 1 map entry, 1 map not read: 1 refusal, 1 problem",
            ])
        for arguments in [["resolve", "app://home"], ["routes"]] {
            let refused = try await RunningCommand.run(
                [arguments[0], "--routes", "\(directory)/routes.json", "--map", "\(directory)/map.json"]
                    + arguments.dropFirst())
            #expect(refused.status == 64)
            #expect(refused.errorLines.first?.contains("map.json:2:20: expected a key in quotes") == true)
        }
    }

    @Test func `equal findings are one line, and each is in the formats for programs`() async throws {
        let entries = (1...300).map {
            #"{"routerType":1,"orginPath":"web://x\#($0)","targetPath":"app://home"}"#
        }
        let map = "[\n\(entries.joined(separator: ",\n"))\n]"
        let ending = try await check(map)
        #expect(
            ending.output.map { $0.replacing("\(directory)/", with: "") } == [
                "map.json:2:53: deadRedirect: entry 1 of 300 (web://x1): no registered route has the scheme web "
                    + "(and 299 more: entries 2-300)",
                "3 routes, 300 map entries: 300 problems",
            ])
        let json = try JSONValue(parsing: try #require(try await check(map, "--json").output.first))
        #expect(json.arrayValue?.count == 300)
        #expect(json[299]?["entry"] == 300 && json[299]?["line"] == 301)
        #expect(json[299]?["file"] == .string("\(directory)/map.json"))
    }

    /// With what each format must escape.
    private static let hostile = #"[{"routerType":1,"orginPath":"app://a","targetPath":"app://x&y'\",%25"}]"#

    @Test func `a check prints annotations of GitHub`() async throws {
        let ending = try await check(Self.hostile, "--format", "github")
        #expect(ending.status == 1)
        #expect(ending.output.last == "3 routes, 1 map entry: 1 problem")
        let line = try #require(ending.output.first)
        #expect(line.hasPrefix("::error file=\(directory)/map.json,line=1,col="))
        #expect(line.contains(",title=deadRedirect::entry 1 of 1 ("))
        // The percent sign of the message itself.
        #expect(line.hasSuffix("no route matches app://x&y'\",%2525") && ending.output.count == 2)
    }

    @Test func `a check prints SARIF 2.1`() async throws {
        let ending = try await check(Self.hostile, "--format", "sarif")
        #expect(ending.status == 1 && ending.output.count == 1)
        let log = try JSONValue(parsing: try #require(ending.output.first))
        #expect(log["version"] == "2.1.0")
        let run = try #require(log["runs"]?[0])
        #expect(run["tool"]?["driver"]?["name"] == "waypost")
        let result = try #require(run["results"]?[0])
        let rule = try #require(result["ruleIndex"]?.intValue)
        #expect(run["tool"]?["driver"]?["rules"]?[Int(rule)]?["id"] == result["ruleId"])
        #expect(result["level"] == "error")
        #expect(result["message"]?["text"]?.stringValue?.hasPrefix("entry 1 of 1 (") == true)
        let place = try #require(result["locations"]?[0]?["physicalLocation"])
        #expect(place["artifactLocation"]?["uri"] == .string("file://\(directory)/map.json"))
        #expect(place["region"]?["startLine"] == 1)
        let clean = try JSONValue(
            parsing: try #require(try await check("[]", "--format", "sarif").output.first))
        #expect(clean["runs"]?[0]?["results"] == [])
    }

    @Test func `a check prints JUnit's XML, also when nothing is wrong`() async throws {
        let ending = try await check(Self.hostile, "--format", "junit")
        #expect(ending.status == 1)
        let report = try JUnit(ending.output.joined(separator: "\n"))
        #expect(report.suites == ["\(directory)/routes.json", "\(directory)/map.json"])
        #expect(report.tests == 2 && report.failures.count == 1)
        #expect(report.failures.first?.hasSuffix("no route matches app://x&y'\",%25") == true)
        let clean = try await check("[]", "--format", "junit")
        #expect(clean.status == 0)
        let good = try JUnit(clean.output.joined(separator: "\n"))
        #expect(good.tests == 2 && good.failures.isEmpty)
    }

    @Test func `a map that agents refuse for its size or depth is refused here`() async throws {
        let deep = String(repeating: "[", count: 20) + String(repeating: "]", count: 20)
        let ending = try await check(
            #"[{"routerType":3,"path":"app://old","params":{"x":\#(deep)}}]"#)
        #expect(ending.output.first?.contains("nested deeper than 16 levels") == true, "\(ending.output)")
        let long = String(repeating: " ", count: 262_144)
        #expect(try await check("[\(long)]").output.first?.contains("262146 bytes") == true)
    }

    private func check(_ map: String, _ options: String...) async throws -> RunningCommand.Ending {
        let files = try (write("routes.json", Self.routes), write("map.json", map))
        return try await RunningCommand.run(["check", "--routes", files.0, "--map", files.1] + options)
    }

    private func write(_ name: String, _ text: String) throws -> String {
        let file = "\(directory)/\(name)"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }
}
