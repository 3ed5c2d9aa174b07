import TestSupport
import Testing

@testable import Waypost

extension RouteKey {
    fileprivate static let userPage: RouteKey = "myapp://user/:id"
    fileprivate static let chat: RouteKey = "chat"
}

@Suite(.patient) struct `Build URLs and opens` {
    static let positional: [(String, [String], String)] = [
        ("qq://name/:name", ["halfrost"], "qq://name/halfrost"),
        ("ky://search/:keyword", ["Hangzhou"], "ky://search/Hangzhou"),
        ("ky://search/:keyword", ["a/b c?&#%直"], "ky://search/a%2Fb%20c%3F%26%23%25%E7%9B%B4"),
        ("a://:id/:idx", ["1", "2"], "a://1/2"), ("a://x/<int:n>", ["-7"], "a://x/-7"),
        ("a://x/:name.html", ["page"], "a://x/page.html"), ("a://x/**", ["p/q r"], "a://x/p/q%20r"),
        ("a://x/*", ["any"], "a://x/any"), ("a://x", [], "a://x"), ("/x/:id", ["1"], "/x/1"),
        ("a://", [], "a://"),
    ]

    @Test(arguments: positional)
    func `values in order make a URL that gives them back`(pattern: String, values: [String], url: String)
        throws
    {
        let descriptor = try RouteDescriptor(RouteKey(pattern))
        #expect(try descriptor.url(values: values) == url)
        #expect(try RouteDescriptor.generateURL(RouteKey(pattern), values) == url)
        #expect(descriptor.parameters(of: url) != nil)
    }

    static let mismatches: [(String, [String])] = [
        ("ky://search/:keyword", []), ("ky://search/:keyword", ["a", "b"]), ("ky://search/:keyword", [""]),
        ("ky://search/:keyword", [".."]), ("ky://search/:keyword", ["a\u{0}"]), ("a://x/<int:n>", ["seven"]),
        ("a://x/<uuid:n>", ["7"]), ("a://x/**", ["a//b"]), ("a://x/:", ["a"]), ("a://x/:n.html", [""]),
    ]

    @Test(arguments: mismatches)
    func `values that do not fit are an error`(pattern: String, values: [String]) {
        #expect(throws: RouteGenerationError.self) {
            try RouteDescriptor.generateURL(RouteKey(pattern), values)
        }
    }

    @Test func `names fill the path and the rest goes to the query`() throws {
        struct Search: Codable, Equatable {
            var keyword: String
            var page: Int
            var filter: [String]?
        }
        let descriptor = try RouteDescriptor("ky://search/:keyword")
        #expect(
            try descriptor.url(for: ["keyword": "直播", "page": 2, "a b": "c&d", "none": .null])
                == "ky://search/%E7%9B%B4%E6%92%AD?a%20b=c%26d&page=2")
        let search = Search(keyword: "x", page: 3, filter: nil)
        let url = try descriptor.url(from: search)
        #expect(url == "ky://search/x?page=3")
        #expect(try descriptor.parameters(of: url)?.decode(Search.self) == search)
        #expect(descriptor.parameters(of: "ky://other") == nil)
        let error = #expect(throws: RouteGenerationError.self) { try descriptor.url(for: ["page": 2]) }
        #expect(error == .missing("keyword", pattern: "ky://search/:keyword"))
    }

    @Test func `a key registers, opens and takes a scheme`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register(.userPage) { request in .opened(request.parameters["id"]) }
        try router.register(.chat) { _ in .opened("chat") }
        #expect(await router.open(.userPage, ["id": 42, "tab": "x"]).url == "myapp://user/42?tab=x")
        #expect(await router.open(.userPage).code == .badField)
        #expect(await router.open(.chat, scheme: "myapp").value == "chat")
    }

    @Test func `TheRouter's chain builds an open and a command`() async throws {
        struct Model: Codable, Sendable, Equatable {
            var name: String
            var age: Int
        }
        let router = try recordingRouter([("scheme://router/demo", "Demo")])
        let builder = RouteBuilder.build("scheme://router/demo")
            .withInt(key: "intValue", value: 2)
            .withString(key: "stringValue", value: "sdsd")
            .withFloat(key: "floatValue", value: 3.1415)
            .withBool(key: "boolValue", value: false)
            .withDouble(key: "doubleValue", value: 2.0)
            .withAny(key: "any", value: Model(name: "AKyS", age: 18))
            .buildDictionary(param: ["intValue": 9, "more": 1])
        let opening = await builder.open(with: router)
        let params: JSONValue = [
            "intValue": 2, "stringValue": "sdsd", "floatValue": 3.1415, "boolValue": false,
            "doubleValue": 2.0,
            "any": ["name": "AKyS", "age": 18], "more": 1,
        ]
        #expect(opening.value?["params"] == params)
        #expect(
            try builder.command(id: "c-1")
                == ["id": "c-1", "type": "open", "url": "scheme://router/demo", "params": params])
    }

    @Test func `a value without a JSON form is refused and a closure reaches only this process`() async throws
    {
        let broken = RouteBuilder("a://x").withDouble(key: "d", value: .nan)
        #expect(await broken.open(with: Router()).code == .badField)
        #expect(throws: RouteGenerationError.self) { try broken.command(id: "c") }
        let closure: @Sendable () -> Int = { 7 }
        let local = RouteBuilder("a://x").withAny(key: "closure", value: closure)
        #expect(throws: RouteGenerationError.self) { try local.command(id: "c") }
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("a://x") { request in
            let closure = request.parameters.object("closure", as: (@Sendable () -> Int).self)
            return .opened(closure.map { .int(Int64($0())) })
        }
        #expect(await local.open(with: router).value == 7)
    }

    @Test func `placeholders in the query of a pattern are filled, behind those of the path`() throws {
        let pattern = "ky://search/:keyword?page=:page&sort=<order>&lang=de"
        #expect(
            try RouteDescriptor.generateURL(RouteKey(pattern), ["Hangzhou", "2", "a&b"])
                == "ky://search/Hangzhou?page=2&sort=a%26b&lang=de")
        let search = try RouteDescriptor(RouteKey(pattern))
        #expect(search.names == ["keyword", "page", "order"])
        #expect(
            try search.url(for: ["keyword": "x", "page": 2, "order": "up", "more": true])
                == "ky://search/x?page=2&sort=up&lang=de&more=true")
        #expect(search.parameters(of: "ky://search/x?page=2")?["page"] == "2")
        #expect(throws: RouteGenerationError.count(expected: 3, found: 1, pattern: pattern)) {
            try search.url(values: ["Hangzhou"])
        }
        #expect(throws: RouteGenerationError.missing("page", pattern: pattern)) {
            try search.url(for: ["keyword": "x"])
        }
        // A description as TheRouter has it is no template.
        #expect(try RouteDescriptor.generateURL("a://x?&desc=12:30", []) == "a://x")
    }
}
