import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// `waypost routes` and `waypost check` on files.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
final class CheckRoutesCommandTests {
    private let directory = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)"

    init() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    @Test func `a clean map on clean routes ends with 0`() async throws {
        let ending = try await check(
            routes: #"[{"path":"s://a","class":"A","priority":0},{"path":"s://b","class":"B","priority":0}]"#,
            map:
                #"{"id":"m","type":"map","rev":3,"entries":[{"routerType":1,"orginPath":"s://a","targetPath":"s://b"}]}"#
        )
        // A route that the map leads away from is listed; nothing else is.
        #expect(ending.output.last == "2 routes, 1 map entry: no problems, 1 note")
        #expect(
            ending.output.first?.hasSuffix(
                "routes.json:1:2: redirected: s://a is not opened: a redirect leads to s://b") == true)
        #expect(ending.status == 0)
        #expect(try await check(routes: #"[{"path":"s://a","class":"A"}]"#, map: "[]").status == 0)
    }

    @Test func `routes that differ only by case are in conflict where case is ignored`() async throws {
        let routes = #"[{"path":"s://Orders/:id","class":"A"},{"path":"s://orders/:nr(/edit)","class":"B"}]"#
        #expect(try await check(routes: routes, map: "[]").status == 0)
        let ending = try await check(routes: routes, map: "[]", "--json", "--ignore-case")
        #expect(ending.status == 1)
        let findings = try JSONValue(parsing: try #require(ending.output.first)).arrayValue
        #expect(findings?.map { $0["kind"] } == ["conflict"])
    }

    @Test func `the redirect of the readme is listed, and ends with 1 only with strict`() async throws {
        let map = try write(
            "map.json",
            #"[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}]"#)
        let arguments = ["check", "--demo", "--map", map]
        #expect(try await RunningCommand.run(arguments).status == 0)
        #expect(try await RunningCommand.run(arguments + ["--strict"]).status == 1)
    }

    @Test(
        arguments: [
            ("cycle", #"[{"routerType":1,"orginPath":"s://a","targetPath":"s://a"}]"#),
            ("deadRedirect", #"[{"routerType":1,"orginPath":"s://x","targetPath":"s://gone"}]"#),
            ("unknownClass", #"[{"routerType":2,"path":"s://x","className":"Nobody"}]"#),
            ("deadDeletion", #"{"routerType":3,"path":"s://gone"}"#),
            ("refused", #"[{"routerType":9,"path":"s://gone"}]"#),
            ("refused", #"{"type":"map","rev":0,"entries":[]}"#),
            ("refused", #"[{"routerType":1,"orginPath":"s://a","targetPath":"scheme://services"}]"#),
            ("deadRedirect", #"[{"routerType":1,"orginPath":"s://x","targetPath":"evil://a"}]"#),
            ("refused", #"[{"routerType":1,"orginPath":"s://x/:id","targetPath":"s://a?id=:name"}]"#),
            (
                "neverApplies",
                #"[{"routerType":1,"orginPath":"s://x","targetPath":"s://a","when":{"after":2,"before":1}}]"#
            ),
            (
                "overlap",
                #"[{"routerType":1,"orginPath":"s://x","targetPath":"s://a","when":{"locale":"de"}},{"routerType":1,"orginPath":"s://x","targetPath":"s://a","when":{"build":"<2"}}]"#
            ),
        ])
    func `what is wrong with a map is found and ends with 1`(_ kind: String, _ map: String) async throws {
        let ending = try await check(routes: #"[{"path":"s://a","class":"A"}]"#, map: map, "--json")
        #expect(ending.status == 1)
        let findings = try JSONValue(parsing: try #require(ending.output.first)).arrayValue
        #expect(findings?.map { $0["kind"] } == [.string(kind)])
    }

    @Test(
        arguments: [
            ("conflict", #"[{"path":"s://:a","class":"A"},{"path":"s://:b","class":"B"}]"#),
            ("badPattern", #"[{"path":"s://:","class":"A"}]"#),
            ("unreachable", #"[{"path":"s://a","class":"A"},{"path":"s://:x","class":"B","priority":1}]"#),
        ])
    func `what is wrong with routes is found and ends with 1`(_ kind: String, _ routes: String) async throws {
        let ending = try await check(routes: routes, map: "[]")
        #expect(ending.status == 1)
        #expect(ending.output.first?.contains(": \(kind): ") == true)
    }

    @Test func `a duplicate is named with both lines and classes, in each command`() async throws {
        let routes = """
            [
              {"path":"s://a","class":"A"}, {"path":"s://\\"[","class":"Q"},
              {"path":"s://:b","class":"B"},
              {"path":"s://a","class":"A"},
              {"path":"s://:c",
               "class":"C"}, {"path":"s://caf\u{e9}","class":"X"},
              {"path":"s://cafe\u{301}","class":"X"}
            ]
            """
        let bad = "s://:c (class C, line 5): already held by s://:b (class B, line 3)"
        for text in [routes, #"{"router":{"dialect":"waypost"},"routes":\#(routes)}"#] {
            let ending = try await check(routes: text, map: "[]")
            #expect(ending.status == 1)
            #expect(ending.output.contains { $0.hasSuffix(":3: conflict: \(bad)") }, "\(ending.output)")
            #expect(
                ending.output.contains {
                    $0.hasSuffix(":4:3: duplicate: s://a (line 4) is the same as line 2")
                })
            // By bytes: the twin is a route of its own.
            #expect(ending.output.contains { $0.contains(": lookAlike: ") && $0.contains("class X, line 7") })
            #expect(ending.output.last?.hasPrefix("6 routes") == true)
        }
        let file = try write("routes.json", routes)
        for arguments in [["routes"], ["resolve", "s://a"], ["agent", "--agent", "k1"]] {
            let ending = try await RunningCommand.run(
                [arguments[0], "--routes", file] + arguments.dropFirst())
            #expect(ending.status == 64)
            #expect(ending.errorLines.contains { $0.contains("routes.json: \(bad)") }, "\(ending.errorLines)")
        }
        let oneLine = #"[{"path":"s://a","class":"A"},{"path":"s://a/","class":"B"}]"#
        let ending = try await check(routes: oneLine, map: "[]")
        let conflict = "conflict: s://a/ (class B, entry 2): already held by s://a (class A, entry 1)"
        #expect(ending.output.first?.hasSuffix("routes.json:1:31: \(conflict)") == true, "\(ending.output)")
    }

    @Test func `params of a record are defaults, and what is not read is named`() async throws {
        let routes =
            #"[{"path":"s://a","className":"A","action":"x://open","description":"d","params":{"n":"1","m":2}}]"#
        let ending = try await check(routes: routes, map: "[]")
        #expect(ending.status == 0)
        let unread = ":1:2: unreadField: s://a (entry 1): the field action is not read"
        #expect(ending.output.first?.hasSuffix(unread) == true)
        #expect(ending.output.last == "1 route, 0 map entries: no problems, 1 note")
        let file = try write("routes.json", routes)
        let found = try await RunningCommand.run(["resolve", "--routes", file, "--json", "s://a?m=3"])
        #expect(try JSONValue(parsing: try #require(found.output.first))["params"] == ["n": "1", "m": "3"])
        let wrong = try await check(routes: #"[{"path":"s://a","params":"n=1"}]"#, map: "[]")
        #expect(wrong.status == 64)
        let fault = "routes.json:1:27: params should be an object but is a string"
        #expect(wrong.errorLines.first?.contains(fault) == true, "\(wrong.errorLines)")
    }

    @Test(
        arguments: [
            ["check"], ["routes"], ["check", "--routes", "/nonexistent"],
            ["routes", "--demo", "--routes", "x"],
            ["routes", "--demo", "--format", "pdf"], ["check", "--demo", "--map", "/nonexistent"],
            ["check", "--demo", "--dialect", "nope"], ["resolve", "--demo"], ["resolve", "a://b"],
            ["resolve", "--demo", "--cases", "-", "a://b"], ["resolve", "--cases", "/nonexistent"],
            ["resolve", "--demo", "--host", "h", "a://b"],
        ])
    func `wrong usage ends with 64`(_ arguments: [String]) async throws {
        let ending = try await RunningCommand.run(arguments)
        #expect(ending.status == 64)
        #expect(!ending.errorLines.isEmpty)
    }

    @Test func `a file that is no list of routes is named, with the entry`() async throws {
        for (text, fault) in [
            ("{", ":1:2: expected"), ("{}", "must be an array"),
            ("[\n {\"class\":\"A\"}]", ":2:2: path is missing"),
        ] {
            let file = try write("routes.json", text)
            let ending = try await RunningCommand.run(["routes", "--routes", file])
            #expect(ending.status == 64)
            #expect(ending.errorLines.first?.contains(file) == true)
            #expect(ending.errorLines.first?.contains(fault) == true, "\(ending.errorLines)")
        }
    }

    @Test func `routes are written out in every form, redirects drawn`() async throws {
        let map = try write(
            "map.json",
            #"[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}]"#)
        for (format, needle) in [
            ("json", #""path": "scheme://router/user/:id""#),
            ("plist", "<string>scheme://router/user/:id</string>"),
            ("markdown", "| `scheme://router/user/:id` | `UserScreen` | 0 | page |"),
            ("dot", #""scheme://router/demo" -> "scheme://router/demo1" [style=dashed"#),
            ("swift", #""scheme://router/user/:id""#),
        ] {
            let ending = try await RunningCommand.run(["routes", "--demo", "--map", map, "--format", format])
            #expect(ending.status == 0)
            #expect(ending.output.contains { $0.contains(needle) }, "\(format): \(ending.output)")
        }
    }

    @Test func `the list that is written out is read again`() async throws {
        let first = try await RunningCommand.run(["routes", "--demo", "--json"])
        let file = try write("routes.json", first.output.joined(separator: "\n"))
        let second = try await RunningCommand.run(["routes", "--routes", file, "--json"])
        #expect(second.output == first.output)
    }

    @Test func `a converter that is not known here leaves only its own route out`() async throws {
        let file = try write(
            "routes.json",
            #"[{"path":"s://a/<sku:id>","class":"A"},{"path":"s://b","class":"B","takesDeeper":true}]"#)
        let found = try await RunningCommand.run(["resolve", "--routes", file, "s://b/c", "--json"])
        #expect(found.status == 0)
        #expect(found.errorLines.contains { $0.contains("its converter sku is not known here") })
        let checked = try await RunningCommand.run(["check", "--routes", file])
        #expect(checked.status == 0)
        #expect(checked.output.first?.contains(":1:2: unknownConverter: s://a/<sku:id> ") == true)
    }

    @Test func `what breaks callers since a contract is a mistake, and what else is different a note`()
        async throws
    {
        let earlier = try write(
            "earlier.json",
            #"[{"path":"s://a","class":"A"},{"path":"s://b","class":"B"},{"path":"s://c","class":"C"}]"#)
        let later =
            #"[{"path":"s://a","class":"A"},{"path":"s://b","class":"B2"},{"path":"s://d","class":"D"}]"#
        let ending = try await check(routes: later, map: "[]", "--since", earlier)
        #expect(ending.status == 1)
        #expect(
            ending.output == [
                "declaredNotRegistered: breaks callers: s://c is declared but not registered",
                "extended: s://d is registered but not declared",
                "wrongClass: breaks callers: s://b is declared for B, but registered for B2",
                "3 routes, 0 map entries: 2 problems, 1 note",
            ], "\(ending)")
        let more = try await check(
            routes: #"[{"path":"s://a","class":"A"},{"path":"s://b"},{"path":"s://c"},{"path":"s://d"}]"#,
            map: "[]", "--since", earlier, "--json")
        #expect(more.status == 1 && more.output.count == 1)
        let same = try await check(
            routes: #"[{"path":"s://d"},{"path":"s://a","class":"A"}]"#, map: "[]", "--since",
            try write("one.json", #"[{"path":"s://a","class":"A"}]"#))
        #expect(same.status == 0 && same.output.first == "extended: s://d is registered but not declared")
        let none = try await check(routes: later, map: "[]", "--since", "\(directory)/none.json")
        #expect(none.status == 64 && none.errorLines.first?.contains("none.json") == true)
        #expect(try await check(routes: later, map: "[]", "--since", "-", "--commands", "-").status == 64)
    }

    private func check(routes: String, map: String, _ options: String...) async throws
        -> RunningCommand.Ending
    {
        let files = try (write("routes.json", routes), write("map.json", map))
        return try await RunningCommand.run(["check", "--routes", files.0, "--map", files.1] + options)
    }

    private func write(_ name: String, _ text: String) throws -> String {
        let file = "\(directory)/\(name)"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }
}
