#if compiler(>=6.3)  // SE-0492
import Foundation
import TestSupport
import Testing

/// What an executable finds that lists nothing: `LinkedProbe`, which was built beside the tests.
@Suite(.patient) struct `Find what was declared` {
    static func probe(_ arguments: String...) async throws -> [String] {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        while folder.path != "/",
            !FileManager.default.isExecutableFile(atPath: folder.appendingPathComponent("LinkedProbe").path)
        {
            folder.deleteLastPathComponent()
        }
        let ending = try await Tool.run(folder.appendingPathComponent("LinkedProbe").path, arguments)
        #expect(ending.status == 0)
        return ending.output.split(separator: "\n").map(String.init)
    }

    @Test func `records by hand are registered before the first use`() async throws {
        let lines = try await Self.probe()
        for line in [
            "route probe://hand/:id ByHand 3 page", "route probe://page LinkedProbe.HandPage 0 page",
            "route probe://seite LinkedProbe.HandPage 0 page", "service HandService twice(_:)!",
        ] {
            #expect(lines.contains(line))
        }
    }

    @Test func `what is no record or is in conflict is named`() async throws {
        let failures = try await Self.probe().filter { $0.hasPrefix("failure") && !$0.contains("year") }
        #expect(failures.count == 3)
        #expect(failures.contains { $0.hasSuffix("version 99 is unknown; this build reads version 1") })
        #expect(failures.contains { $0.hasSuffix("0x12345678 is not the magic number of a record") })
        #expect(
            failures.contains(
                "failure register probe://hand/:id: already held by probe://hand/:id (declared for Rival)"))
    }

    static let byHand: [(String, String)] = [
        ("probe://hand/9", #"OK probe://hand/:id "9" opened probe://hand/9"#),
        ("probe://page", #"OK probe://page "by hand" opened probe://page"#),
        (
            "probe://guarded/hand",
            "INTERCEPTED probe://guarded/hand - intercepted by login: log in first"
        ),
        (
            "probe://guarded/type",
            "INTERCEPTED probe://guarded/type - intercepted by login: log in first"
        ),
        ("probe://page?moved=x", #"OK probe://hand/:id "x" opened probe://hand/x"#),
        (
            "scheme://services?protocol=HandService&method=twice:&ivar1=21",
            "OK - 42 served scheme://services?protocol=HandService&method=twice:&ivar1=***"
        ),
    ]

    @Test(arguments: byHand) func `records by hand are opened`(url: String, line: String) async throws {
        #expect(try await Self.probe(url) == [line])
    }

    #if Macros
    @Test func `each macro leaves its routes and services`() async throws {
        let lines = try await Self.probe().filter { !$0.hasPrefix("failure") }
        #expect(
            lines == [
                "route probe://actor/:count LinkedProbe.ActorPage 0 page",
                "route probe://class Named 0 web",
                "route probe://class/sub LinkedProbe.SubclassPage 0 page",
                "route probe://constant - 0 action",
                "route probe://guarded/hand - 0 page",
                "route probe://guarded/key/action - 0 action",
                "route probe://guarded/key/handler - 0 action",
                "route probe://guarded/key/page LinkedProbe.GuardedKeyPage 0 page",
                "route probe://guarded/page LinkedProbe.GuardedPage 0 page",
                "route probe://guarded/route - 0 action",
                "route probe://guarded/static LinkedProbe.GuardedByItself 0 page",
                "route probe://guarded/type LinkedProbe.HandPage 0 page",
                "route probe://hand/:id ByHand 3 page",
                "route probe://in/type - 0 action",
                "route probe://key/:id LinkedProbe.KeyPage 0 page",
                "route probe://key/action - 0 action",
                "route probe://key/handler - 0 action",
                "route probe://main LinkedProbe.MainActorPage 0 page",
                "route probe://nested LinkedProbe.Outer.Inner 0 page",
                "route probe://nested/again LinkedProbe.Outer.Inner -1 page",
                "route probe://page LinkedProbe.HandPage 0 page",
                "route probe://private/:name LinkedProbe.PrivatePage 0 page",
                "route probe://redirect - 0 action",
                "route probe://seite LinkedProbe.HandPage 0 page",
                "route probe://struct/:id LinkedProbe.StructPage 5 page",
                "route probe://struktur/<int:id> LinkedProbe.StructPage 5 page",
                "route probe://verschluss Closure 2 page",
                "service Counter add(_:times:) add(a:b:)! who(greeting:mark:) caller()",
                "service Greeting greet(_:)! wait(for:in:) forget()",
                "service HandService twice(_:)!",
                "service Report total()",
                "service Screen title()",
                "service Shelf count(_:by:) names(of:marked:)",
            ])
    }

    @Test func `a pattern whose converter the router has not is a failure with its name`() async throws {
        #expect(
            try await Self.probe().contains(
                "failure register probe://closure/<year:y>: the converter year is unknown at byte 17 "
                    + "(declared for Closure)"))
    }

    static let declared: [(String, String, String)] = [
        ("probe://struct/7", "probe://struct/:id", "7"),
        ("probe://struktur/8", "probe://struktur/<int:id>", "8"),
        ("probe://class/deeper/x", "probe://class", #""probe://class/deeper/x""#),
        ("probe://class/sub", "probe://class/sub", #""probe://class/sub""#),
        ("probe://main", "probe://main", #""main actor""#),
        ("probe://key/7", "probe://key/:id", #""7""#),
        ("probe://key/action", "probe://key/action", "-"),
        ("probe://key/handler", "probe://key/handler", #""handler""#),
        ("probe://actor/4", "probe://actor/:count", "5"),
        ("probe://nested/again", "probe://nested/again", #""nested""#),
        ("probe://in/type", "probe://in/type", #""hello""#),
        ("probe://private/me", "probe://private/:name", #""me""#),
        ("probe://constant", "probe://constant", "-"),
        ("probe://verschluss", "probe://verschluss", #""closure""#),
        ("probe://redirect", "probe://redirect", #""stayed""#),
        ("probe://redirect?to=probe://constant", "probe://constant", "-"),
    ]

    @Test(arguments: declared)
    func `what macros declare is opened`(url: String, route: String, value: String) async throws {
        let line = try #require(try await Self.probe(url).first)
        #expect(line.hasPrefix("OK \(route) \(value) opened "))
    }

    @Test(arguments: ["page", "key/page", "static", "route", "key/handler", "key/action"])
    func `metadata that are given to a macro guard its route`(path: String) async throws {
        let line = try #require(try await Self.probe("probe://guarded/\(path)").first)
        #expect(line == "INTERCEPTED probe://guarded/\(path) - intercepted by login: log in first")
    }

    static let calls: [(String, String)] = [
        ("protocol=Counter&method=add(_:times:)&ivar1=4&times=3", "OK - 12 "),
        ("protocol=Counter&method=add(_:times:)&ivar1=4", "OK - 4 "),
        ("protocol=Counter&method=addWithA:b:&a=1&b=2", "OK - 3 "),
        ("protocol=Counter&method=who&greeting=hi&mark=!", #"OK - "hi probe c-1!" "#),
        ("protocol=Counter&method=caller", #"OK - "probe" "#),
        ("protocol=Counter&method=hidden", "NO_METHOD - - "),
        ("protocol=Greeting&method=greetName:&ivar1=you", #"OK - "hello you" "#),
        ("protocol=Greeting&method=forget", "OK - null "),
        ("protocol=Screen&method=title", #"OK - "screen" "#),
        ("protocol=Shelf&method=count", "OK - [5,3] "),
        ("protocol=Shelf&method=count&ivar1=1", "OK - [1,3] "),
        ("protocol=Shelf&method=count&by=2", "OK - [5,2] "),
        ("protocol=Shelf&method=names&marked=!", #"OK - "all!" "#),
        ("protocol=Shelf&method=names&of=%5B%22a%22%5D&marked=!", #"OK - "a!" "#),
        ("protocol=Report&method=total", "OK - 1 "),
    ]

    @Test(arguments: calls) func `exposed methods are called`(query: String, beginning: String) async throws {
        let line = try #require(try await Self.probe("scheme://services?\(query)").first)
        #expect(line.hasPrefix(beginning), "\(line)")
    }
    #endif
}
#endif
