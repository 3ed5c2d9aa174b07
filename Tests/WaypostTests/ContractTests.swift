import TestSupport
import Testing

@testable import Waypost
@testable import WaypostTools

@Suite struct `What a contract says` {
    enum Tab: String, Codable, CaseIterable { case news, music }
    struct Nested: Codable { var x: Int }
    struct OrderPage: RoutablePage, Decodable {
        let id: Int
        let page: Int?
        let tab: Tab
        let tags: [String]
        let nested: Nested
        let nightly: Bool?
    }

    func router() throws -> Router {
        let router = Router()
        try router.register([
            Route("app://orders/:id", to: OrderPage.self),
            Route("app://shelf/<int(1..99):shelf>/<in(red|blue):color>(/:page)") { _ in .opened() },
            Route(
                "app://search", defaults: ["sort": "name"],
                parameters: [
                    RouteParameter("text", as: String.self, summary: "What is looked for."),
                    RouteParameter("sort", as: String.self), RouteParameter("limit", as: UInt8?.self),
                ]
            ) { _ in .opened() },
        ])
        try router.services.expose(
            ExposedService("Shelves", instance: Shelves()) {
                Exposed("put(_:on:color:)", idempotent: true) {
                    (s: Shelves, thing: String, shelf: Int, color: String?) in
                    "\(thing)\(shelf)\(color ?? "")"
                }
                Exposed("clear()") { (s: Shelves) in }
            })
        return router
    }

    struct Shelves: Sendable {}

    func parameters(_ path: String) throws -> [RouteParameter] {
        try #require(try router().routes.first { $0.path == path }).parameters
    }

    @Test func `the properties of a page are its parameters, with the words of JSON Schema`() throws {
        let parameters = try parameters("app://orders/:id")
        #expect(parameters.map(\.name) == ["id", "page", "tab", "tags", "nested", "nightly"])
        #expect(parameters.map(\.isRequired) == [true, false, true, true, true, false])
        #expect(parameters.map(\.isInPath) == [true, false, false, false, false, false])
        #expect(
            parameters.map(\.schema)
                == [
                    ValueSchema(.integer), ValueSchema(.integer),
                    ValueSchema(.string, values: ["news", "music"]),
                    ValueSchema(.array), .any, ValueSchema(.boolean),
                ])
    }

    @Test func `a pattern says what its placeholders take, and optional parts are not required`() throws {
        let parameters = try parameters("app://shelf/<int(1..99):shelf>/<in(red|blue):color>(/:page)")
        #expect(parameters.map(\.text) == ["shelf: integer 1..99", "color: blue or red", "page?: string"])
    }

    @Test func `a parameter with a default is not required`() throws {
        let parameters = try parameters("app://search")
        #expect(parameters.map(\.text) == ["text: string", "sort?: string", "limit?: integer 0..255"])
    }

    @Test func `it is read as it was written, and a router made of it checks the same`() throws {
        let contract = try router().contract
        let again = try RouterContract(JSONValue(parsing: contract.json.serialized()))
        #expect(again == contract)
        let standIn = Router(configuration: again.settings.configuration)
        try standIn.register(again.routes.map { Route($0) { _ in .opened() } })
        for service in again.services { try standIn.services.expose(ExposedService(standInFor: service)) }
        #expect(standIn.contract == contract)
    }

    @Test(
        arguments: [
            ("app://orders/7?tab=news&tags=a&nested={\"x\":1}", nil),
            ("app://orders/x?tab=news&tags=a&nested={}", "id should be an integer but is a string"),
            ("app://orders/7?tab=new&tags=a&nested={}", "tab should be news or music but is another"),
            ("app://orders/7?tabs=news&tags=a&nested={}", "did you mean it by tabs?"),
            ("app://shelf/0/red", "no route matches app://shelf/0/red"),
            ("app://shelf/7/red", nil), ("app://search?text=x&limit=9", nil),
            ("app://search", "text is missing (string)"),
            ("app://search?text=x&limit=300", "limit should be an integer 0..255"),
            ("scheme://services?protocol=Shelves&method=put&ivar1=a&on=3", nil),
            ("scheme://services?protocol=Shelves&method=put&ivar1=a&on=x", "\"on\""),
            ("scheme://services?protocol=Shelves&method=putt", "exposes no method"),
        ] as [(String, String?)])
    func `an open is held against it`(_ url: String, _ fault: String?) throws {
        let found = try router().checkOpen(url).fault?.detail
        if let fault {
            #expect(found?.contains(fault) == true, "\(found ?? "")")
        } else {
            #expect(found == nil)
        }
    }

    @Test func `what is passed beside an optional parameter is only doubted`() throws {
        let report = try router().checkOpen("app://search?text=x&limits=9")
        #expect(report.fault == nil)
        #expect(report.warnings == ["app://search does not read limits; did you mean limit?"])
        #expect(try router().checkOpen("app://search?text=x&campaign=9").warnings == [])
    }

    @Test(
        arguments: [
            ("put", .positional(["a", 3]), nil),
            ("put", .labeled(["ivar1": "a", "on": 3, "color": "red"]), nil),
            ("put", .positional(["a", 3, .null]), nil), ("clear", .positional([]), nil),
            ("put", .positional(["a"]), "\"on\" of put(_:on:color:) is missing (Int)"),
            ("put", .positional(["a", "3"]), "should be an integer but is a string"),
            ("put", .positional(["a", 3, "x", 4]), "takes 3 arguments but got 4"),
            ("put", .labeled(["ivar1": "a", "on": 3, "colour": "red"]), "did you mean \"color\"?"),
            ("pat", .positional([]), "exposes no method pat"),
        ] as [(String, ServiceArguments, String?)])
    func `a call is held against it, and a stand-in answers alike`(
        _ method: String, _ arguments: ServiceArguments, _ fault: String?
    ) async throws {
        let router = try router()
        let found = router.checkCall("Shelves", method, arguments: arguments).fault?.detail
        if let fault {
            #expect(found?.contains(fault) == true, "\(found ?? "")")
        } else {
            #expect(found == nil)
        }
        // What it refuses, the method itself refuses, in the same words.
        let answer = await ending { try await router.services.call("Shelves", method, arguments: arguments) }
        let standIn = ServiceRegistry()
        for service in router.contract.services { try standIn.expose(ExposedService(standInFor: service)) }
        let other = await ending { try await standIn.call("Shelves", method, arguments: arguments) }
        for answer in [answer, other] {
            switch answer {
            case .success: #expect(fault == nil)
            case .failure(let failure): #expect(failure.code.status == .rejected && fault != nil)
            }
        }
    }

    @Test func `where redirects lead from is told`() throws {
        let router = try router()
        try router.relocate([
            RelocationLayer(
                name: "all", entries: [.init(.replace(origin: "app://old/**", target: "app://shelf/**"))])
        ])
        #expect(router.contract.redirects == ["app://old/**"])
        #expect(router.isRedirected("app://old/x") && !router.isRedirected("app://search"))
    }
}
