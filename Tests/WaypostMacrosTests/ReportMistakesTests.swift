#if Macros
import Testing

@Suite struct `Report mistakes` {
    static let patterns: [(String, String)] = [
        (
            "myapp://orders/:/x",
            "1:27: \"myapp://orders/:/x\" is not a pattern: a placeholder without a name at byte 15"
        ),
        ("a/:id/b/:id", "1:21: \"a/:id/b/:id\" is not a pattern: the name id occurs twice at byte 9"),
        ("日/:id/:id", "1:21: \"日/:id/:id\" is not a pattern: the name id occurs twice at byte 9"),
        (
            "a/**/b",
            "1:14: \"a/**/b\" is not a pattern: a rest that is not the last component at byte 2"
        ),
        ("1x://a", "1:12: \"1x://a\" is not a pattern: the scheme is not valid at byte 0"),
        ("", "1:12: \"\" is not a pattern: the text is empty at byte 0"),
        ("a/<int:id", "1:14: \"a/<int:id\" is not a pattern: a malformed placeholder at byte 2"),
        // An escape is no byte of the pattern, so the literal's beginning has to do.
        (#"a\u{7}b/:"#, "1:12: \"a\u{7}b/:\" is not a pattern: a control character at byte 1"),
    ]

    @Test(arguments: patterns)
    func `a bad pattern is an error at its character`(pattern: String, message: String) {
        let expansion = Expansion(of: "@Routable(\"\(pattern)\") enum P { static func open() {} }")
        #expect(expansion.diagnostics == [message])
        #expect(!expansion.text.contains("@section"))
    }

    @Test func `a page with a bad pattern still conforms, so that there is one error`() {
        let expansion = Expansion(
            of: "@Routable(\"a/:\") struct P { init(from request: RouteRequest) throws {} }")
        #expect(expansion.diagnostics.count == 1)
        #expect(
            expansion.text.contains("static func open(")
                && expansion.text.contains("extension P: Waypost::Routable"))
        #expect(!expansion.text.contains("@section"))
    }

    @Test func `a service that exposes nothing is a warning, unless it is fetched by a protocol`() {
        let nothing = Expansion(of: "@Service struct S { func f() {} }")
        #expect(
            nothing.diagnostics == [
                "1:1: S exposes nothing: no method can be called from outside until it has @Exposed"
            ])
        #expect(nothing.text.contains("Waypost::ExposedService("))
        #expect(Expansion(of: "@Service(as: (any P).self) struct S: P {}").diagnostics == [])
        #expect(Expansion(of: "@Service struct S { @Exposed func f() {} }").diagnostics == [])
    }

    @Test func `each bad pattern of several is reported`() {
        let expansion = Expansion(of: "#route(\"a/:\", \"good\", \"b/*x/:a:b\", \"good\") { _ in .pass }")
        #expect(expansion.diagnostics.map { $0.prefix { $0 != " " } } == ["1:11:", "1:31:", "1:36:"])
    }

    @Test func `an unknown converter is an error that offers a known one`() {
        let expansion = Expansion(of: "@Routable(\"a/<itn:id>\") enum P { static func open() {} }")
        #expect(expansion.diagnostics.count == 1)
        #expect(expansion.diagnostics.first?.hasPrefix("1:15: \"a/<itn:id>\" is not a pattern") == true)
        #expect(expansion.fixIts == ["use 'int'"])
    }

    @Test(arguments: ["[\"year\"]", "Converters.names", "[\"x\", other]"])
    func `a converter that is declared is none of the macro's business`(converters: String) {
        let expansion = Expansion(
            of: "@Routable(\"a/<year:y>\", converters: \(converters)) enum P { static func open() {} }")
        #expect(expansion.diagnostics.isEmpty)
    }

    /// A placeholder, a property, and what is said of the two; nil where they fit.
    static let properties: [(String, String, String?)] = [
        (
            "<int:id>", "let id: Bool",
            "3:13: id is Bool, but its placeholder in \"a/<int:id>\" gives an integer: "
                + "make it Int or String, or change the placeholder"
        ),
        (
            "<uuid:id>", "let id: Int",
            "3:13: id is Int, but its placeholder in \"a/<uuid:id>\" gives a UUID: "
                + "make it UUID or String, or change the placeholder"
        ),
        (
            "<bool:id>", "var id: Double?",
            "3:13: id is Double?, but its placeholder in \"a/<bool:id>\" gives a truth value: "
                + "make it Bool or String, or change the placeholder"
        ),
        ("<double:id>", "var id: Optional<Swift.UInt8>", "3:13: id is Optional<Swift.UInt8>, but "),
        ("<int:id>", "let id: Foundation.UUID", "3:13: id is Foundation.UUID, but "),
        (
            "<int(300..):id>", "let id: UInt8",
            "3:13: id is UInt8, but its placeholder in \"a/<int(300..):id>\" gives an "
                + "integer 300..: make it Int or String"
        ),
        (
            "<in(red|blue):id>", "let id: Int",
            "3:13: id is Int, but its placeholder in \"a/<in(red|blue):id>\" gives "
                + "blue or red: make it String"
        ),
        (
            ":id", "let id: [Int]",
            "3:13: id is [Int], but its placeholder in \"a/:id\" gives a text: "
                + "a part of a path is no collection; rename the property to read it from the query"
        ),
        (":id", "let id: [String: Int]?", "3:13: id is [String: Int]?, but "),
        ("v<int:id>-<from>", "let other, id: Bool", "3:20: id is Bool, but "),
        ("<path:id>", "var id: Set<Int> { didSet {} }", "3:13: id is Set<Int>, but "),
        (":id", "let id: Int", nil), ("<int:id>", "let id: String", nil), ("<int:id>", "let id: Double", nil),
        ("<uuid:id>", "let id: UUID?", nil), ("<bool:id>", "let `id`: Bool!", nil),
        ("<int(1..9):id>", "let id: UInt8", nil), ("<in(1|b):id>", "let id: Int", nil),
        ("<double:id>", "let id: Float", nil), (":id", "let id: [Int: Int]", nil),
        // What is not decoded, or not from there, or of a type that could be anything.
        ("<int:id>", "let id: Identifier", nil), ("<int:id>", "let id = true", nil),
        ("<int:id>", "let id: Bool = true", nil), ("<int:id>", "static let id: Bool = true", nil),
        ("<int:id>", "var id: Bool { true }", nil), ("<int:id>", "var id: Bool { get { true } }", nil),
        ("<int:id>", "@Wrapped var id: Bool", nil), ("<int:id>", "lazy var id: Bool = true", nil),
        ("<int:id>", "let other: Bool", nil),
        ("<int:id>", "let id: Bool; enum CodingKeys: String, CodingKey { case id = \"x\" }", nil),
        ("<int:id>", "let id: Bool; init(from request: RouteRequest) { id = true }", nil),
        ("<int:id>", "let id: Bool; init(from decoder: any Decoder) { id = true }", nil),
    ]

    @Test(arguments: properties)
    func `a property that can never be read from its placeholder is an error`(
        placeholder: String, property: String, beginning: String?
    ) {
        let expansion = Expansion(
            of: """
                @Routable("a/\(placeholder)")
                struct P: RoutablePage, Codable {
                    \(property)
                }
                """)
        guard let beginning else {
            #expect(expansion.diagnostics == [])
            #expect(expansion.text.contains("@section"))
            return
        }
        #expect(expansion.diagnostics.count == 1, "\(expansion.diagnostics)")
        #expect(expansion.diagnostics.first?.hasPrefix(beginning) == true, "\(expansion.diagnostics)")
        #expect(!expansion.text.contains("@section"))
        #expect(expansion.text.contains("extension P: Waypost::Routable"))
    }

    @Test(arguments: [
        "@Routable(\"a/<int:id>\") struct P: RoutablePage { let id: Bool; init(from r: RouteRequest) { id = true } }",
        "@Routable(\"a/<int:id>\") struct P: Decodable { let id: Bool; static func open(_ r: RouteRequest) {} }",
        "@Routable(.key) struct P: RoutablePage, Decodable { let id: Bool }",
        "@Routable(\"a/<int:id>\", converters: [\"int\"]) struct P: RoutablePage & Decodable { let id: Bool }",
    ])
    func `what is not read from the parameters by itself is left alone`(source: String) {
        #expect(Expansion(of: source).diagnostics == [])
    }

    @Test func `each pattern is held against the properties`() {
        let expansion = Expansion(
            of: "@Routable(\"a/:id\", \"b/<bool:id>\") struct P: RoutablePage & Decodable { let id: Int }")
        #expect(expansion.diagnostics.count == 1)
        #expect(expansion.diagnostics.first?.contains("\"b/<bool:id>\" gives a truth value") == true)
    }

    static let places: [(String, String)] = [
        ("@Routable() enum P {}", "1:1: a route needs a pattern, for instance \"myapp://orders/:id\""),
        (
            "@Routable(\"a\") struct P<T> {}",
            "1:1: @Routable cannot be used in a generic type: P has no single set"
        ),
        (
            "struct O<T> { @Routable(\"a\") enum P {} }",
            "1:15: @Routable cannot be used in a generic type: O has"
        ),
        (
            "struct O<T> { #route(\"a\") { _ in .pass } }",
            "1:15: #route cannot be used in a generic type: O has"
        ),
        ("@Routable(\"a\") protocol P {}", "1:1: @Routable cannot be used in a protocol"),
        ("@Routable(\"a\") extension P {}", "1:1: @Routable belongs on the type itself"),
        (
            "func f() { @Routable(\"a\") enum P {} }",
            "1:12: @Routable must be at file scope or in a type"
        ),
        ("func f() { #route(\"a\") { _ in .pass } }", "1:12: #route must be at file scope or in a type"),
        ("#route(\"a\")", "1:1: a route needs a handler"),
        ("@Service enum S {}", "1:1: @Service belongs on a class, an actor or a structure"),
        ("@Service(\"\") struct S {}", "1:10: a service needs a name"),
        ("@Service struct S<T> {}", "1:1: @Service cannot be used in a generic type"),
        ("@Service struct S { init(a: Int) {} }", "1:21: a service needs an initializer without arguments"),
        (
            "@Service actor S { init() async {} }",
            "1:20: a service is created synchronously at its first use"
        ),
        ("@Service struct S { init?() {} }", "1:21: the initializer of a service cannot be failable"),
        ("@Service @MainActor class S { init() {} }", "1:31: a service can be created on any thread"),
        ("@Service class S { @MainActor init() {} }", "1:31: a service can be created on any thread"),
        ("struct S { @Exposed func f() {} }", "1:12: @Exposed has no effect without @Service on the type"),
        ("extension S { @Exposed func f() {} }", "1:15: @Exposed must be in the body of the type"),
        ("@Exposed func f() {}", "1:1: @Exposed belongs on a method of a type with @Service"),
    ]

    @Test(arguments: places)
    func `what stands where it cannot is an error that says what to do`(source: String, beginning: String) {
        let expansion = Expansion(of: source)
        #expect(expansion.diagnostics.count == 1, "\(expansion.diagnostics)")
        #expect(expansion.diagnostics.first?.hasPrefix(beginning) == true, "\(expansion.diagnostics)")
    }

    static let methods: [(String, String)] = [
        (
            "static func f() {}",
            "an exposed method is called on an instance of the service and cannot be static"
        ),
        ("private func f() {}", "an exposed method is open to callers from outside and cannot be private"),
        (
            "fileprivate func f() {}",
            "an exposed method is open to callers from outside and cannot be fileprivate"
        ),
        ("mutating func f() {}", "an exposed method cannot be mutating"),
        ("func f<T>(_ t: T) {}", "an exposed method cannot be generic"),
        ("func f(_ t: inout Int) {}", "the argument of an exposed method cannot be inout"),
        ("func f(_ t: Int...) {}", "an exposed method cannot be variadic"),
        ("func f(_ t: @escaping () -> Void) {}", "the argument of an exposed method cannot be a closure"),
        ("func f(_ t: (() -> Void)) {}", "the argument of an exposed method cannot be a closure"),
        ("func f(_ t: some Codable) {}", "the argument of an exposed method cannot be 'some Codable'"),
        ("func f(_ t: any Codable) {}", "the argument of an exposed method cannot be 'any Codable'"),
        ("func f(_ t: isolated A) {}", "the argument of an exposed method cannot be an isolation"),
        ("func f() -> (Int, Int) { (1, 1) }", "the result of an exposed method cannot be a tuple"),
        ("func f() -> () -> Void {}", "the result of an exposed method cannot be a closure"),
        ("var f: Int { 1 }", "@Exposed belongs on a method"),
    ]

    @Test(arguments: methods)
    func `a method that cannot be called from outside is an error`(method: String, message: String) {
        let expansion = Expansion(of: "@Service struct S {\n    @Exposed \(method)\n}")
        #expect(expansion.diagnostics.count == 1, "\(expansion.diagnostics)")
        #expect(expansion.diagnostics.first?.hasPrefix("2:") == true)
        #expect(expansion.diagnostics.first?.contains(message) == true, "\(expansion.diagnostics)")
        #expect(!expansion.text.contains("Waypost::Exposed("))
    }

    @Test func `the selector has as many colons as the method has arguments`() {
        let expansion = Expansion(of: "@Service struct S { @Exposed(selector: \"add\") func add(a: Int) {} }")
        #expect(expansion.diagnostics == ["1:40: the selector \"add\" has 0 colons, the method 1 arguments"])
    }

    @Test func `two exposed methods of one name are an error`() {
        let expansion = Expansion(
            of: "@Service struct S { @Exposed func f(a: Int) {}; @Exposed func f(a: String) {} }")
        #expect(
            expansion.diagnostics == ["1:63: two exposed methods are named f(a:); change the labels of one"])
    }

    @Test func `a static method can lose its word, an initializer get one`() {
        #expect(
            Expansion(of: "@Service struct S { @Exposed static func f() {} }").fixIts == ["remove 'static'"])
        #expect(
            Expansion(of: "@MainActor @Service class S { init() {} }").fixIts == ["insert 'nonisolated'"])
    }
}
#endif
