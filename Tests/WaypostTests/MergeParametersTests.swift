import Testing

@testable import Waypost

@Suite struct `Merge parameters` {
    static let sources = RouteParameters(
        path: ["p": "path", "pq": "path", "all": "path"],
        query: ["q": "query", "pq": "query", "all": "query"],
        caller: ["c": "caller", "all": "caller", "gone": .null],
        relocation: ["r": "relocation", "all": "relocation"])

    static let rules: [(MergeRule, JSONValue, JSONValue)] = [
        (.callerOverPathOverQuery, "path", "relocation"), (.queryOverCaller, "query", "query"),
        (.queryOverPath, "query", "query"),
        (
            .collect, .array(["query", "path"]),
            .array(["query", "path", "caller", "relocation"])
        ),
    ]

    @Test func `are changed one by one where they lie, and a copy keeps its own`() {
        var parameters = Self.sources
        let copy = parameters
        // Copied at each change, they would take hours.
        for number in 0..<50_000 { parameters.caller["\(number)"] = .int(Int64(number)) }
        #expect(parameters.caller.count == 50_002)
        #expect(parameters.path == copy.path)
        #expect(copy.caller.count == 2)
        #expect(copy == Self.sources && copy != parameters)
    }

    @Test(arguments: rules)
    func `each rule says who wins`(rule: MergeRule, pathAndQuery: JSONValue, all: JSONValue) {
        var parameters = Self.sources
        parameters.rule = rule
        let expected: [String: JSONValue] = [
            "p": "path", "q": "query", "c": "caller", "r": "relocation", "pq": pathAndQuery, "all": all,
        ]
        #expect(parameters.merged == expected)
        for (key, value) in expected { #expect(parameters[key] == value) }
        #expect(parameters["gone"] == nil)
    }

    /// The sources of each rule, the one that wins first.
    private static let orders: [(rule: MergeRule, order: [RouteParameters.Source])] = [
        (.callerOverPathOverQuery, [.relocation, .caller, .path, .query]),
        (.queryOverCaller, [.query, .relocation, .caller, .path]),
        (.queryOverPath, [.query, .path, .relocation, .caller]),
        (.collect, [.query, .path, .caller, .relocation]),
    ]

    @Test(arguments: orders)
    func `of every pair of sources the rule's first one wins`(
        rule: MergeRule, order: [RouteParameters.Source]
    ) {
        #expect(Set(order) == Set(RouteParameters.Source.allCases))
        for (place, first) in order.enumerated() {
            for second in order.dropFirst(place + 1) {
                var parameters = RouteParameters(rule: rule)
                parameters[first]["key"] = .string(first.rawValue)
                parameters[second]["key"] = .string(second.rawValue)
                let expected: JSONValue =
                    rule == .collect
                    ? [.string(first.rawValue), .string(second.rawValue)] : .string(first.rawValue)
                #expect(parameters["key"] == expected, "\(first) and \(second)")
                #expect(parameters.merged == ["key": expected], "\(first) and \(second)")
            }
        }
    }

    @Test func `every dialect has the rule of its router`() {
        #expect(Dialect.waypost.merge == .callerOverPathOverQuery)
        #expect(Dialect.theRouter.merge == .collect)
        #expect(Dialect.reerRouter.merge == .queryOverCaller)
        #expect(Dialect.reerRouter(host: "a").merge == .queryOverCaller)
        #expect(Dialect.kyRouter.merge == .queryOverPath)
    }

    @Test func `a rewrite beats every source and a null removes`() {
        var parameters = Self.sources
        parameters.rule = .queryOverCaller
        parameters.rewrite(["all": "new", "q": .null])
        #expect(parameters["all"] == "new")
        #expect(parameters["q"] == nil)
    }

    @Test func `text from the URL is read as what the destination wants`() throws {
        struct Page: Decodable, Equatable {
            var id: Int
            var name: String
            var flag: Bool?
        }
        let parameters = RouteParameters(path: ["id": "2"], caller: ["name": "AKyS"])
        #expect(try parameters.decode(Page.self) == Page(id: 2, name: "AKyS", flag: nil))
        #expect(try parameters.value("id", as: Int.self) == 2)
        #expect(try parameters.value("id", as: String.self) == "2")
        #expect(try parameters.valueIfPresent("none", as: Int.self) == nil)
    }

    @Test func `an error names the key and the types, and not the text`() {
        struct Page: Decodable { var id: Int }
        let parameters = RouteParameters(query: ["id": "two"])
        let error = #expect(throws: ParameterError.self) { try parameters.value("id", as: Int.self) }
        #expect(error?.key == "id")
        #expect(error?.found == "two")
        #expect(error?.type == "Int")
        #expect(
            error?.description == "parameter \"id\" should be an integer (Int) but is a string (read as Int)")
        #expect(throws: ParameterError.self) { try parameters.decode(Page.self) }
        let missing = #expect(throws: ParameterError.self) { try parameters.value("no", as: Int.self) }
        #expect(missing?.description == "parameter \"no\" is missing (read as Int)")
    }

    @Test func `a native object is given as it is`() {
        struct Model: Sendable, Equatable { var name: String }
        let parameters = RouteParameters(objects: ["model": Model(name: "AKyS")])
        #expect(parameters.object("model", as: Model.self) == Model(name: "AKyS"))
        #expect(parameters.object("model", as: Int.self) == nil)
    }
}
