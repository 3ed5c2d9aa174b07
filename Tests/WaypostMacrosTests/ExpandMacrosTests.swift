#if Macros
import Testing

@Suite struct `Expand macros` {
    @Test func `a routable type gets a record and the conformance`() {
        let expansion = Expansion(
            of: """
                @Routable("myapp://a", Paths.b, priority: 5, idempotent: true)
                enum Page {
                    static func open(_ request: RouteRequest) -> RouteAnswer { .opened() }
                }
                """)
        #expect(expansion.diagnostics.isEmpty)
        #expect(
            expansion.text == """
                enum Page {
                    static func open(_ request: RouteRequest) -> RouteAnswer { .opened() }

                    @section("waypost_records")
                    @used
                    private nonisolated static let __macro_local_6routesfMu_: Waypost::LinkedRecord = (
                        0x7761_7970, 1,
                        { pointer in
                            let sink = unsafe Waypost::LinkedRecordSink(pointer)
                            sink.add(Waypost::Route("myapp://a", to: Page.self, priority: 5, idempotent: true), \
                Waypost::Route(Paths.b, to: Page.self, priority: 5, idempotent: true))
                        },
                        0, 0
                    )
                }

                extension Page: Waypost::Routable {
                }
                """)
    }

    static let pages: [(String, [String])] = [
        (
            "struct P { init(from request: RouteRequest) {} }",
            ["let page = Self(from: request)", ".opened()"]
        ),
        (
            "public struct P { init?(from r: Waypost.RouteRequest) async throws {} }",
            ["public static func open(", "guard let page = try await Self(from: request) else"]
        ),
        (
            "actor P { init(from r: RouteRequest) throws {}; func opened() -> JSONValue? { nil } }",
            ["let page = try Self(from: request)", "return .opened(await page.opened())"]
        ),
        (
            "struct P { init(from r: RouteRequest) {}; func opened() throws -> JSONValue? { nil } }",
            ["return .opened(try page.opened())"]
        ),
    ]

    @Test(arguments: pages)
    func `a type that is made from a request opens by making one`(source: String, parts: [String]) {
        let expansion = Expansion(of: "@Routable(\"a\") \(source)")
        #expect(expansion.diagnostics.isEmpty)
        for part in parts { #expect(expansion.text.contains(part), "\(expansion.text)") }
    }

    @Test(arguments: [
        "struct P: RoutablePage { init(from request: RouteRequest) {} }",
        "struct P { init(from r: RouteRequest) {}; static func open(_ r: RouteRequest) -> RouteAnswer { .pass } }",
        "struct P { init(from decoder: any Decoder) {}; let open: Int }",
    ])
    func `a type that opens by itself is left alone`(source: String) {
        #expect(!Expansion(of: "@Routable(\"a\") \(source)").text.contains("Self(from:"))
    }

    @Test func `two attributes on a type give two records and one conformance`() {
        let text = Expansion(
            of: "@Routable(\"a\") @Routable(\"b\", priority: 1) enum P { static func open() {} }"
        ).text
        #expect(text.components("@section").count == 3)
        #expect(text.components("extension P").count == 2)
    }

    @Test func `a key stands where a pattern may`() {
        let page = Expansion(of: "@Routable(.chat, Keys.talk, priority: 2) enum P: RoutablePage {}")
        #expect(page.diagnostics.isEmpty)
        #expect(page.text.contains("Waypost::Route(.chat, to: P.self, priority: 2)"), "\(page.text)")
        #expect(page.text.contains("Waypost::Route(Keys.talk, to: P.self, priority: 2)"))
        let route = Expansion(of: "#route(key: .cart, priority: 1) { request in .opened() }")
        #expect(route.diagnostics.isEmpty)
        #expect(
            route.text.contains("Waypost::Route(.cart, priority: 1, kind: .action, handler: handler)"),
            "\(route.text)")
        let action = Expansion(of: "#route(key: .testKey, action: { params in print(params) })")
        #expect(action.diagnostics.isEmpty)
        for part in [
            "let action: @Sendable (Waypost::RouteParameters) async throws -> Void = { params in",
            "try await action($0.parameters)", "Waypost::Route(.testKey, kind: .action, handler: handler)",
        ] {
            #expect(action.text.contains(part), "\(action.text)")
        }
        #expect(!Expansion(of: "#route(key: .none)").diagnostics.isEmpty)
        // Names may be constants as well.
        let service = Expansion(
            of: "@Service(Names.calc) actor A { @Exposed(selector: Names.add) func add(_ a: Int) {} }")
        #expect(service.diagnostics.isEmpty)
        #expect(service.text.contains("selector: Names.add"))
    }

    @Test func `a closure at file scope stands in an enumeration of its own`() {
        let expansion = Expansion(of: "#route(\"a/b\", name: \"N\") { request in .opened() }")
        #expect(expansion.diagnostics.isEmpty)
        #expect(
            expansion.text == """
                private nonisolated enum __macro_local_5routefMu_ {
                    @section("waypost_records")
                    @used
                    fileprivate nonisolated static let record: Waypost::LinkedRecord = (
                        0x7761_7970, 1,
                        { pointer in
                            let handler: Waypost::Route.Handler = { request in
                                .opened()
                            }
                            let sink = unsafe Waypost::LinkedRecordSink(pointer)
                            sink.add(Waypost::Route("a/b", name: "N", kind: .action, handler: handler))
                        },
                        0, 0
                    )
                }
                """)
    }

    @Test func `a service lists its exposed methods`() {
        let expansion = Expansion(
            of: """
                @Service("Calc", lifetime: .perCall)
                final class Calculator {
                    init() throws {}
                    @Exposed(selector: "plus:b:", idempotent: true)
                    func add(_ a: Int, b: Int!) async throws -> Int { a + b }
                    @Exposed func `repeat`(for count: Int) {}
                    func hidden() {}
                }
                """)
        #expect(expansion.diagnostics.isEmpty)
        for part in [
            "Waypost::ExposedService(\"Calc\", lifetime: .perCall, make: {",
            "try Calculator()",
            "Calculator.__exposed_add((), b: ())",
            "Calculator.__exposed_repeat(for: ())",
            "static func __exposed_add(_ argument0: Void, b argument1: Void) -> Waypost::Exposed<Calculator> {",
            "Waypost::Exposed(\"add(_:b:)\", selector: \"plus:b:\", idempotent: true) {",
            "(service: Calculator, argument0: Int, argument1: Int?) async throws -> Int in",
            "try await Waypost::Exposed.calling(service).add(argument0, b: argument1)",
            "Waypost::Exposed(\"repeat(for:)\") {",
            "try await Waypost::Exposed.calling(service).`repeat`(for: argument0)",
            "extension Calculator: Sendable {",
        ] {
            #expect(expansion.text.contains(part), "\(expansion.text)")
        }
        #expect(!expansion.text.contains("__exposed_hidden"))
    }

    @Test(arguments: ["OpenContext", "Waypost.OpenContext", "(Waypost::OpenContext)"])
    func `a method's context is filled in and is no argument`(type: String) {
        let expansion = Expansion(
            of: """
                @Service actor A {
                    @Exposed(selector: "plus:b:")
                    func add(_ a: Int, for caller: \(type), b: Int) {}
                    @Exposed func clear(_: \(type)) {}
                }
                """)
        #expect(expansion.diagnostics.isEmpty)
        for part in [
            "A.__exposed_add((), b: ())", "A.__exposed_clear()",
            "Waypost::Exposed(\"add(_:b:)\", selector: \"plus:b:\") {",
            "(service: A, context: Waypost::OpenContext, argument0: Int, argument2: Int) async throws -> Void in",
            "calling(service).add(argument0, for: context, b: argument2)",
            "Waypost::Exposed(\"clear()\") {",
            "calling(service).clear(context)",
        ] {
            #expect(expansion.text.contains(part), "\(expansion.text)")
        }
    }

    @Test func `a parameter with a default value may be left out`() {
        let expansion = Expansion(
            of: """
                @Service @MainActor final class A {
                    nonisolated init() {}
                    @Exposed func take(_ a: Int = Self.few, by b: Int? = 7, c: Int, for d: OpenContext = .none) {}
                    @Exposed nonisolated func free(a: [Int] = []) {}
                    @OtherActor @Exposed func other(a: Int = 1) {}
                }
                """)
        #expect(expansion.diagnostics.isEmpty)
        for part in [
            "Waypost::Exposed(\"take(_:by:c:)\") {",
            "(service: A, context: Waypost::OpenContext, argument0: Waypost::OmittableArgument<Int>, "
                + "argument1: Waypost::OmittableArgument<Int?>, argument2: Int) async throws -> Void in",
            ".take(await argument0.value {",
            "}, c: argument2, for: context)",
            "    private static func __macro_local_8standardfMu_() async -> Int {\n        Self.few\n    }",
            "    private static func __macro_local_8standardfMu0_() async -> Int? {\n        7\n    }",
            "    nonisolated private static func __macro_local_8standardfMu1_() async -> [Int] {",
            "    @OtherActor private static func __macro_local_8standardfMu2_() async -> Int {",
            "await A.__macro_local_8standardfMu0_()",
        ] {
            #expect(expansion.text.contains(part), "\(expansion.text)")
        }
    }

    @Test(arguments: [("throws", "try "), ("", "")])
    func `a service may be made of others`(effect: String, word: String) {
        let text = Expansion(
            of: """
                @Service(as: (any P).self) final class A: P {
                    init(others: Int) {}
                    init(services: ServiceRegistry, mark: Int = 1) \(effect) {}
                }
                """
        ).text
        #expect(text.contains("\(word)A(services: $0)\n"), "\(text)")
        #expect(text.contains("try A") != word.isEmpty)
        // One that needs nothing goes before it.
        let both = Expansion(
            of: "@Service struct A { init(services: ServiceRegistry) {}; init() {}; @Exposed func f() {} }")
        #expect(both.diagnostics.isEmpty)
        #expect(!both.text.contains("services: $0"))
    }

    @Test func `metadata go on to each route`() {
        let page = Expansion(
            of:
                "@Routable(\"a\", .b, metadata: [\"auth\": true], converters: []) enum P { static func open() {} }"
        )
        #expect(
            page.text.contains(
                "sink.add(Waypost::Route(\"a\", to: P.self, metadata: [\"auth\": true]), "
                    + "Waypost::Route(.b, to: P.self, metadata: [\"auth\": true]))"), "\(page.text)")
        let route = Expansion(of: "#route(key: .k, metadata: Shared.auth, action: { _ in })")
        #expect(route.text.contains("metadata: Shared.auth, handler: handler)"), "\(route.text)")
    }

    @Test(arguments: [
        ("(any Greeting).self", "Greeting"), ("(any App.Greeting).self", "Greeting"), ("Base.self", "Base"),
    ])
    func `a service is named for the protocol it is fetched by`(type: String, name: String) {
        let text = Expansion(of: "@Service(as: \(type)) actor A {}").text
        #expect(text.contains("ExposedService(\"\(name)\", as: \(type), make: {"), "\(text)")
        #expect(text.contains("convert: {"))
    }
}

extension String {
    /// The pieces around a separator.
    fileprivate func components(_ separator: String) -> [Substring] {
        split(separator: separator, omittingEmptySubsequences: false)
    }
}
#endif
