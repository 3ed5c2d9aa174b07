import Testing
import Waypost

@testable import WaypostTools

/// A list is held against what is registered in all that it says; each row is one change that a caller would meet.
@Suite struct `Keep a contract` {
    struct Shop: Sendable {}

    struct Total: TypedRoute {
        typealias Answer = Int
        static let key: RouteKey = "a://total"
    }
    struct MaybeTotal: TypedRoute {
        typealias Answer = Int?
        static let key: RouteKey = "a://total"
    }
    struct NoTotal: TypedRoute { static let key: RouteKey = "a://total" }

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
        var gates = ["login"]
        var pattern = "a://orders/<int:id>"
        var configuration = RouterConfiguration(registersLinked: false)
        var answer: (any TypedRoute.Type)? = Total.self
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
            switch answer {
            case is Total.Type: try router.register(Total.self, name: "Total") { _, _ in 1 }
            case is MaybeTotal.Type: try router.register(MaybeTotal.self, name: "Total") { _, _ in .some(1) }
            case is NoTotal.Type: try router.register(NoTotal.self, name: "Total") { _, _ in .opened() }
            default: break
            }
            for name in gates { router.gate(name) { _ in .proceed } }
            let methods = methods()
            try router.services.expose(
                ExposedService("Shop", make: Shop.init) { for method in methods { method } })
            return router
        }
    }

    typealias Change = @Sendable (inout App) -> Void

    /// What is said of each change, and whether it breaks callers.
    ///
    /// A statement each, for the compiler.
    static let changes: [(String, Bool, Change)] = {
        var rows: [(String, Bool, Change)] = []
        func add(_ words: String, breaks: Bool = true, _ change: @escaping Change) {
            rows.append((words, breaks, change))
        }
        func call(
            _ words: String, breaks: Bool = true, _ methods: @escaping @Sendable () -> [Exposed<Shop>]
        ) {
            add(words, breaks: breaks) { (app: inout App) -> Void in app.methods = methods }
        }
        add("is listed as page, but registered as action") { (app: inout App) -> Void in app.kind = .action }
        add("is listed as idempotent, but registered so otherwise") { (app: inout App) -> Void in
            app.idempotent = false
        }
        add("is listed as takesDeeper, but registered so otherwise") { (app: inout App) -> Void in
            app.takesDeeper = false
        }
        add("is not listed as redirects, but registered so otherwise", breaks: false) {
            (app: inout App) -> Void in
            app.redirects = true
        }
        add("is listed with metadata.owner \"shop\", and no longer has it", breaks: false) {
            (app: inout App) -> Void in
            app.metadata["owner"] = nil
        }
        add("is listed with metadata.level 2, and now has 3", breaks: false) { (app: inout App) -> Void in
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
        add("is listed with the parameter limit?", breaks: false) { (app: inout App) -> Void in
            app.parameters[2] = RouteParameter("limit", ValueSchema(.integer, minimum: 0, maximum: 10))
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
        add("the setting ignoresCase is listed as none, and is now true", breaks: false) {
            (app: inout App) -> Void in
            app.configuration.ignoresCase = true
        }
        call("Shop.clear() is declared but not exposed") { [count()] }
        add("the setting webPath is listed as none, and is now", breaks: false) {
            (app: inout App) -> Void in
            app.configuration.webPath = "a://orders/<int:id>"
        }
        add("is listed with the answer Int, which is now Optional<Int>") { (app: inout App) -> Void in
            app.answer = MaybeTotal.self
        }
        add("is listed with the answer Int, which it no longer has") { (app: inout App) -> Void in
            app.answer = NoTotal.self
        }
        add("the gate login is declared but not registered") { (app: inout App) -> Void in app.gates = [] }
        add("the gate owner is registered but not declared", breaks: false) { (app: inout App) -> Void in
            app.gates.append("owner")
        }
        call("Shop.more() is exposed but not declared", breaks: false) { [count(), clear(), more()] }
        call("is listed with the argument of: Int, which is now String") { [countOfText(), clear()] }
        call("is listed with the argument of: Int, which is now Optional<Int>", breaks: false) {
            [countOfAny(), clear()]
        }
        call("is listed with the result Int, which is now Optional<Int>") { [countMaybe(), clear()] }
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

    @Sendable static func countMaybe() -> Exposed<Shop> {
        Exposed("count(of:)", idempotent: true) { (_: Shop, of: Int) -> Int? in of }
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
        let (words, breaks, change) = Self.changes[row]
        var app = App()
        change(&app)
        let report = try app.router().check(against: Self.kept())
        let found = report.findings.filter { $0.detail.contains(words) }
        #expect(found.map(\.breaksCallers) == [breaks], "\(report.text)")
        #expect(report.text.contains("breaks callers: ") == report.findings.contains { $0.breaksCallers })
        #expect(!report.isClean)
    }

    /// A release is held against the one before: only what breaks callers is a mistake.
    @Test(arguments: changes.indices)
    func `what breaks no caller is only good to know of a later contract`(_ row: Int) throws {
        let (words, breaks, change) = Self.changes[row]
        var app = App()
        change(&app)
        let later = try RouterContract(JSONValue(parsing: app.router().contract.text))
        let report = Router.check(
            later, maps: [], configuration: later.settings.configuration, since: try Self.kept()
        ) { _ in nil }
        let found = report.findings.filter { $0.detail.contains(words) }
        #expect(found.map(\.breaksCallers) == [breaks], "\(report.text)")
        #expect(found.map(\.kind.isMistake) == [breaks], "\(report.text)")
    }

    @Test func `what is as it was says nothing, and what is new to no one's harm neither`() throws {
        var app = App()
        #expect(try app.router().check(against: Self.kept()).findings == [])
        app.metadata["new"] = true
        app.parameters.append(RouteParameter("more", as: Int?.self))
        let report = try app.router().check(against: Self.kept())
        #expect(report.findings.map(\.kind) == [.extended] && report.isClean)
        #expect(report.text.contains("reads the parameter more?: integer, which is not listed"))
        #expect(!report.findings.contains { $0.breaksCallers })
    }

    @Test func `what a list leaves out is not compared`() throws {
        let list = try RouteDescription.list([
            ["path": "a://orders/<int:id>", "class": "Orders", "priority": "0"],
            ["path": "a://total", "class": "Total", "priority": "0"],
        ])
        #expect(try App().router().check(declared: list).findings == [])
        let byHand = [
            RouteDescription(path: "a://orders/<int:id>", metadata: ["owner": "shop"]),
            RouteDescription(path: "a://total"),
        ]
        var app = App()
        #expect(try app.router().check(declared: byHand).findings == [])
        app.metadata = [:]
        #expect(try app.router().check(declared: byHand).findings.map(\.kind) == [.changed])
    }
}
