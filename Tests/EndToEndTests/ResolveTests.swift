import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// `waypost resolve`: one URL for people, and files of cases for CI.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct ResolveTests {
    private static let vectors = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Vectors/urls.jsonl").path

    @Test func `every URL of the contract is resolved as it says`() async throws {
        let cases = try String(contentsOfFile: Self.vectors, encoding: .utf8).split(separator: "\n")
        #expect(cases.count >= 200)
        let ending = try await RunningCommand.run(["resolve", "--cases", Self.vectors])
        #expect(ending.status == 0, "\(ending.errorLines)")
        try #require(ending.output.count == cases.count)
        for (line, answer) in zip(cases, ending.output) {
            let (asked, answered) = (try JSONValue(parsing: String(line)), try JSONValue(parsing: answer))
            #expect(answered["id"] == asked["id"])
            #expect(answered["pass"] == true, "\(asked.text)")
        }
    }

    @Test func `an answer that was not expected fails the run, and the difference is said`() async throws {
        let ending = try await cases([
            #"{"id":"a","routes":["s://u/:id"],"open":"s://u/7","expect":{"route":"s://u/:id"}}"#,
            #"{"id":"b","routes":["s://u/:id"],"open":"s://u/7","expect":{"params":{"id":"8","x":1}}}"#,
        ])
        #expect(ending.status == 1)
        #expect(try ending.output.map { try JSONValue(parsing: $0)["pass"] } == [true, false])
        #expect(
            ending.errorLines == [
                "line 2: case b failed: s://u/7", #"  params.id: expected "8", found "7""#,
                "  params.x: expected 1, found nothing",
                "2 cases, 2 with an expectation: 1 passed, 1 failed",
            ])
    }

    @Test(
        arguments: [
            ("x", 400), ("[]", 422), ("{}", 422), (#"{"open":1}"#, 422),
            (#"{"open":"s://a","routes":"s://a"}"#, 422), (#"{"open":"s://a","routes":[1]}"#, 422),
            (#"{"open":"s://a","routes":[],"dialect":"nope"}"#, 422),
            (#"{"open":"s://a","routes":[],"config":{"host":"h"}}"#, 422),
            (#"{"open":"s://a","routes":["s://a"],"priorities":{"s://b":1}}"#, 422),
            (#"{"open":"s://a","routes":["s://a"],"expect":{"rout":"s://a"}}"#, 422),
            (#"{"open":"s://a","routes":["s://a"],"expects":{"route":"s://a"}}"#, 422),
            (#"{"open":"s://a","routes":["s://a"],"config":{"webpath":"s://a"}}"#, 422),
            (#"{"open":"s://a","routes":["s://a"],"client":{"agents":"k1"}}"#, 422),
        ])
    func `a line that is no case is answered in its place and fails the run`(_ line: String, _ code: Int)
        async throws
    {
        let good = #"{"id":1,"routes":["s://a"],"open":"s://a"}"#
        let ending = try await cases([good, "", line, good])
        #expect(ending.status == 1)
        let answers = try ending.output.map { try JSONValue(parsing: $0) }
        #expect(answers.map { $0["error"]?["code"] } == [nil, .int(Int64(code)), nil])
        #expect(answers.map { $0["id"] } == [1, .null, 1])
        let fault = code == 400 ? "line 3 is not JSON: " : "line 3 is not a case: "
        #expect(ending.errorLines.first?.hasPrefix(fault) == true, "\(ending.errorLines)")
        #expect(ending.errorLines.last == "2 cases, none with an expectation, 1 line is not a case")
    }

    @Test func `a misspelt member is no case without an expectation, and the right name is said`()
        async throws
    {
        let ending = try await cases([
            #"{"id":"a","routes":["s://u"],"open":"s://u","expect":{"route":"s://u"}}"#,
            #"{"id":"moved","routes":["s://u"],"open":"s://u","expects":{"route":"s://wrong"}}"#,
            #"{"id":"c","routes":["s://u"],"open":"s://u"}"#,
        ])
        #expect(ending.status == 1)
        #expect(
            ending.errorLines == [
                "line 2 is not a case: expects is unknown; did you mean expect?",
                "2 cases, 1 with an expectation: 1 passed, 0 failed, 1 line is not a case",
            ])
    }

    @Test func `which cases passed is written for CI too`() async throws {
        let report = NSTemporaryDirectory() + "waypost-\(UUID().uuidString).xml"
        defer { try? FileManager.default.removeItem(atPath: report) }
        let lines = [
            #"{"id":"a<&","routes":["s://u"],"open":"s://u","expect":{"route":"s://u"}}"#,
            #"{"routes":["s://u"],"open":"s://u","expect":{"route":"s://\"<"}}"#, "{}",
            #"{"routes":["s://u"],"open":"s://u"}"#,
        ]
        let ending = try await RunningCommand.run(
            ["resolve", "--cases", "-", "--junit", report], input: lines.joined(separator: "\n"))
        #expect(ending.status == 1 && ending.output.count == 4)
        let junit = try JUnit(String(contentsOfFile: report, encoding: .utf8))
        #expect(junit.suites == ["<stdin>"] && junit.tests == 3)
        #expect(junit.failures == [#"route: expected "s://\"<", found "s://u""#, "open is missing"])
    }

    @Test func `a map that is refused is in the answer, and so is an entry that does nothing`() async throws {
        let map = #"{"routerType":1,"orginPath":"s://a","targetPath":"s://b"}"#
        let dead = #"{"routerType":1,"orginPath":"s://x","targetPath":"s://gone"}"#
        let ending = try await cases([
            #"{"routes":["s://a","s://b"],"open":"s://a","maps":[[\#(map),\#(dead)],{"routerType":9},{"routerType":1,"orginPath":"s://b","targetPath":"s://a"}],"expect":{"route":"s://b"}}"#,
            #"{"routes":["s://a","s://b"],"open":"s://a","maps":[\#(map)],"expect":{"refused":[],"inactive":[]}}"#,
        ])
        #expect(ending.status == 0, "\(ending.errorLines)")
        let answers = try ending.output.map { try JSONValue(parsing: $0) }
        let refused = answers[0]["refused"]?.arrayValue ?? []
        #expect(refused.map { $0["map"] } == [1, 2])
        #expect(refused.map { $0["name"] } == ["BAD_FIELD", "CYCLE"])
        #expect(refused[0]["detail"]?.stringValue?.contains("routerType") == true)
        #expect(
            answers[0]["inactive"]
                == [["layer": "patch", "index": 1, "reason": "no route matches s://gone"]])
        #expect(answers[1]["refused"] == nil && answers[1]["inactive"] == nil)
    }

    @Test func `a case takes from the options what it leaves out`() async throws {
        let ending = try await RunningCommand.run(
            ["resolve", "--demo", "--cases", "-"],
            input: #"{"open":"scheme://router/user/7","expect":{"route":"scheme://router/user/:id"}}"#)
        #expect(ending.status == 0)
        #expect(ending.output.count == 1)
    }

    @Test func `one URL is resolved for people and for programs`() async throws {
        let text = try await RunningCommand.run(["resolve", "--demo", "scheme://router/user/7?from=menu"])
        #expect(text.status == 0)
        #expect(text.output.first == "route          scheme://router/user/:id (UserScreen)")
        #expect(text.output.contains(#"param          id = "7""#))

        let json = try await RunningCommand.run(["resolve", "--demo", "--json", "https://example.com/x"])
        let answer = try JSONValue(parsing: try #require(json.output.first))
        #expect(answer["route"] == "scheme://webview/home")
        #expect(answer["class"] == "WebScreen")
        #expect(answer["params"]?["url"] == "https://example.com/x")
    }

    @Test func `the interceptors that an open would ask are named`() async throws {
        let arguments = ["resolve", "--demo", "scheme://router/orders"]
        let text = try await RunningCommand.run(arguments)
        #expect(text.output.contains("interceptors   login (asked before it opens)"), "\(text.output)")
        let json = try await RunningCommand.run(arguments + ["--json"])
        #expect(try JSONValue(parsing: try #require(json.output.first))["interceptors"] == ["login"])
        let open = try await RunningCommand.run(["resolve", "--demo", "scheme://router/demo"])
        #expect(!open.output.contains { $0.hasPrefix("interceptors") })
    }

    @Test func `a URL that leads nowhere ends with 1 and names what is near`() async throws {
        let ending = try await RunningCommand.run(["resolve", "--demo", "--json", "scheme://router/dem"])
        #expect(ending.status == 1)
        let answer = try JSONValue(parsing: try #require(ending.output.first))
        #expect(answer["error"]?["name"] == "NO_ROUTE")
        #expect(answer["nearest"]?.arrayValue?.contains("scheme://router/demo") == true)
    }

    private func cases(_ lines: [String]) async throws -> RunningCommand.Ending {
        // The last line has no line feed, as some editors leave it.
        try await RunningCommand.run(["resolve", "--cases", "-"], input: lines.joined(separator: "\r\n"))
    }
}
