import Testing
import Waypost

@testable import WaypostTools

/// A list is held against what is registered in all that it says; each row is one change that a caller would meet.
@Suite struct `Keep a contract` {
    struct Shop: Sendable {}

    /// What is registered, each part of it to be changed.
    struct App {
        var kind = RouteKind.page
        var idempotent = true
        var takesDeeper = true
        var redirects = false
        var metadata: [String: JSONValue] = ["owner": "shop", "level": 2]
        var defaults: [String: JSONValue] = ["page": 1]
        var parameters = [
            RouteParameter("page", as: Int.self), RouteParameter("sort", as: String?.self),
            RouteParameter("limit", ValueSchema(.integer, minimum: 1, maximum: 10)),
        ]
        var pattern = "a://orders/<int:id>"
        var configuration = RouterConfiguration(registersLinked: false)
        var methods: @Sendable () -> [Exposed<Shop>] = { [count(), clear()] }

        func router() throws -> Router {
            let router = Router(configuration: configuration)
            var redirect: Route.Redirect?
            if redirects { redirect = { @Sendable (_: RouteRequest) -> String? in nil } }
            let handler: Route.ImmediateHandler = { _ in .opened() }
            let route = Route(
                RouteKey(pattern), name: "Orders", kind: kind, takesDeeper: takesDeeper,
                idempotent: idempotent, metadata: metadata, defaults: defaults, parameters: parameters,
                redirect: redirect, handler: handler)
            try router.register(route)
            let methods = methods()
            try router.services.expose(
                ExposedService("Shop", make: Shop.init) { for method in methods { method } })
            return router
        }
    }

    typealias Change = @Sendable (inout App) -> Void

    /// A statement each, for the compiler.
    static let changes: [(String, Change)] = {
        var rows: [(String, Change)] = []
        func add(_ words: String, _ change: @escaping Change) { rows.append((words, change)) }
        func call(_ words: String, _ methods: @escaping @Sendable () -> [Exposed<Shop>]) {
            add(words) { (app: inout App) -> Void in app.methods = methods }
        }
        add("is listed as page, but registered as action") { (app: inout App) -> Void in app.kind = .action }
        add("is listed as idempotent, but registered so otherwise") { (app: inout App) -> Void in
            app.idempotent = false
        }
        add("is listed as takesDeeper, but registered so otherwise") { (app: inout App) -> Void in
            app.takesDeeper = false
        }
        add("is not listed as redirects, but registered so otherwise") { (app: inout App) -> Void in
            app.redirects = true
        }
        add("is listed with metadata.owner \"shop\", and no longer has it") { (app: inout App) -> Void in
            app.metadata["owner"] = nil
        }
        add("is listed with metadata.level 2, and now has 3") { (app: inout App) -> Void in
            app.metadata["level"] = 3
        }
        add("is listed with defaults.page 1, and no longer has it") { (app: inout App) -> Void in
            app.defaults = [:]
        }
        add("is listed with the parameter sort, which it no longer reads") { (app: inout App) -> Void in
            app.parameters.remove(at: 1)
        }
        add("is listed with the parameter page?: integer, which is now page?: string") {
            (app: inout App) -> Void in
            app.parameters[0] = RouteParameter("page", as: String.self)
        }
        add("is listed with the parameter limit?") { (app: inout App) -> Void in
            app.parameters[2] = RouteParameter("limit", ValueSchema(.integer, minimum: 1, maximum: 9))
        }
        add("needs the parameter shop: string, which is not listed") { (app: inout App) -> Void in
            app.parameters.append(RouteParameter("shop", as: String.self))
        }
        add("a://orders/<int:id> is declared but not registered") { (app: inout App) -> Void in
            app.pattern = "a://order/<int:id>"
        }
        add("the setting allowedSchemes is listed as none, and is now") { (app: inout App) -> Void in
            app.configuration.allowedSchemes = ["a"]
        }
        add("the setting ignoresCase is listed as none, and is now true") { (app: inout App) -> Void in
            app.configuration.ignoresCase = true
        }
        call("Shop.clear() is declared but not exposed") { [count()] }
        call("Shop.more() is exposed but not declared") { [count(), clear(), more()] }
        call("is listed with the argument of: Int, which is now String") { [countOfText(), clear()] }
        call("is listed with the argument of: Int, which is now Optional<Int>") { [countOfAny(), clear()] }
        call("is listed with the result Int, which is now String") { [countAsText(), clear()] }
        call("is listed as idempotent, but registered so otherwise") { [countOnce(), clear()] }
        call("is listed with the selector countOf:, and has tally:") { [tally(), clear()] }
        return rows
    }()

    @Sendable static func countOfText() -> Exposed<Shop> {
        Exposed("count(of:)", idempotent: true) { (_: Shop, _: String) in 1 }
    }

    @Sendable static func countOfAny() -> Exposed<Shop> {
        Exposed("count(of:)", idempotent: true) { (_: Shop, _: Int?) in 1 }
    }

    @Sendable static func countAsText() -> Exposed<Shop> {
        Exposed("count(of:)", idempotent: true) { (_: Shop, _: Int) in "1" }
    }

    @Sendable static func countOnce() -> Exposed<Shop> { Exposed("count(of:)") { (_: Shop, _: Int) in 1 } }

    @Sendable static func tally() -> Exposed<Shop> {
        Exposed("count(of:)", selector: "tally:", idempotent: true) { (_: Shop, _: Int) in 1 }
    }

    @Sendable static func count() -> Exposed<Shop> {
        Exposed("count(of:)", idempotent: true) { (_: Shop, _: Int) in 1 }
    }

    @Sendable static func clear() -> Exposed<Shop> { Exposed("clear()") { (_: Shop) in } }
    @Sendable static func more() -> Exposed<Shop> { Exposed("more()") { (_: Shop) in } }

    /// As it is kept: in a file, and read again.
    static func kept() throws -> RouterContract {
        try RouterContract(JSONValue(parsing: App().router().contract.json.text))
    }

    @Test(arguments: changes.indices)
    func `each change of what callers depend on is found`(_ row: Int) throws {
        let (words, change) = Self.changes[row]
        var app = App()
        change(&app)
        let report = try app.router().check(against: Self.kept())
        let texts = report.findings.map(\.detail)
        #expect(texts.contains { $0.contains(words) }, "\(texts)")
        #expect(!report.isClean)
    }

    @Test func `what is as it was says nothing, and what is new to no one's harm neither`() throws {
        var app = App()
        #expect(try app.router().check(against: Self.kept()).findings == [])
        app.metadata["new"] = true
        app.parameters.append(RouteParameter("more", as: Int?.self))
        #expect(try app.router().check(against: Self.kept()).findings == [])
    }

    @Test func `what a list leaves out is not compared`() throws {
        let list = try RouteDescription.list([
            ["path": "a://orders/<int:id>", "class": "Orders", "priority": "0"]
        ])
        #expect(try App().router().check(declared: list).findings == [])
        let byHand = [RouteDescription(path: "a://orders/<int:id>", metadata: ["owner": "shop"])]
        var app = App()
        #expect(try app.router().check(declared: byHand).findings == [])
        app.metadata = [:]
        #expect(try app.router().check(declared: byHand).findings.map(\.kind) == [.changed])
    }
}
