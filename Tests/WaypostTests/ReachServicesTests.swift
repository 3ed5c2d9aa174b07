import Synchronization
import TestSupport
import Testing
import Threading

@testable import Waypost
@testable import WaypostTools

/// What maps do to services, methods and pages beside redirecting them: `off`, `on`, `answer`, `replace` and `gate`.
@Suite(.patient) struct `Maps that reach services and gates` {
    typealias Method = RelocationEntry.Method

    private static let add = Method("Calculator", "add(a:b:)")

    /// A router with pages and services, and what its gate decides.
    final class Program: Sendable {
        let router = Router()
        let decision = Guarded(InterceptorDecision.proceed)
        let ran = Guarded<[String]>([])
        let isOff = Guarded(false)

        init() throws {
            router.updateRelocationContext { context in
                context.agent = "k1"
                context.labels = ["region": "eu"]
            }
            try router.register("app://shop/:item") { [weak self] request in
                self?.ran.withLock { $0.append(request.url.text) }
                return .opened()
            }
            try router.register("app://help") { _ in .opened() }
            try router.register("app://login") { _ in .opened(["login": true]) }
            router.gate("login") { [weak self] _ in self?.decision.withLock { $0 } ?? .proceed }
            try router.services.expose(
                ExposedService("Calculator", make: { 1 }) {
                    Exposed("add(a:b:)", selector: "addWithA:b:", idempotent: true) {
                        (_: Int, a: Int, b: Int) in a + b
                    }
                    Exposed("times(a:b:)") { (_: Int, a: Int, b: Int) in a * b }
                    Exposed("name()") { (_: Int) in "Calculator" }
                })
            try router.services.expose(
                ExposedService("Other", make: { "" }) {
                    Exposed("sum(a:b:)") { (_: String, a: Int, b: Int) in 100 + a + b }
                })
        }

        @discardableResult
        func relocate(_ layers: [RelocationEntry]...) throws(RelocationError) -> RelocationReport {
            try router.relocate(layers.enumerated().map { .init(name: "layer\($0)", entries: $1) })
        }

        /// How a call of `add` ends: its value, or number and name of the code.
        func add(_ method: String = "add(a:b:)", a: Int64 = 2) async -> String {
            do throws(Failure) {
                return try await router.services.call(
                    "Calculator", method, arguments: .labeled(["a": .int(a), "b": 3])
                ).text
            } catch {
                return "\(error.code)"
            }
        }

        func open(_ url: String) async -> String {
            let opening = await router.open(url)
            return opening.isSuccess ? "opened \(opening.route ?? "")" : "\(opening.code)"
        }
    }

    @Test func `what comes in force while a start is stored decides it`() async throws {
        let program = try Program()
        let starts = Guarded(0)
        let context = OpenContext(beforeHandler: { _ in
            let isFirst = starts.withLock { starts in
                starts += 1
                return starts == 1
            }
            guard isFirst else { return }
            try program.relocate([
                Self.off, .init(.replace(origin: "app://shop/:item", target: "app://help")),
            ])
        })
        let opening = await program.router.open("app://shop/7", context: context)
        #expect(opening.route == "app://help" && program.ran.withLock(\.isEmpty))
        try program.relocate()
        starts.withLock { $0 = 0 }
        await #expect(throws: Failure.self) {
            try await program.router.services.call(
                "Calculator", "times", arguments: .labeled(["a": 1, "b": 3]), context: context)
            try await program.router.services.call(
                "Calculator", "add", arguments: .labeled(["a": 1, "b": 3]), context: context)
        }
        // Of what is switched off no start is stored.
        #expect(starts.withLock(\.self) == 2)
    }

    // MARK: Calls

    private static let off = RelocationEntry(.off(.method(add)))

    /// Layers of entries, the lower first, and how a call of `add` with 2 and 3 ends.
    static let calls: [(String, [[RelocationEntry]], String)] = [
        ("nothing", [], "5"),
        ("off of the method", [[off]], "503 SWITCHED_OFF"),
        ("off by its base", [[.init(.off(.method(.init("Calculator", "add"))))]], "503 SWITCHED_OFF"),
        (
            "off by its selector", [[.init(.off(.method(.init("Calculator", "addWithA:b:"))))]],
            "503 SWITCHED_OFF"
        ),
        ("off of the service", [[.init(.off(.service("Calculator")))]], "503 SWITCHED_OFF"),
        ("off of another service", [[.init(.off(.service("Other")))]], "5"),
        ("off of another method", [[.init(.off(.method(.init("Calculator", "name"))))]], "5"),
        ("off but for the method", [[.init(.off(.service("Calculator")), except: ["add"])]], "5"),
        (
            "off but for another", [[.init(.off(.service("Calculator")), except: ["name()"])]],
            "503 SWITCHED_OFF"
        ),
        (
            "a code of its own",
            [
                [
                    .init(
                        .off(
                            .service("Calculator"), reason: "no",
                            code: Code(application: 1012, "CLOSED", isRejection: true)))
                ]
            ],
            "1012 CLOSED"
        ),
        ("on above", [[off], [.init(.on(.method(add)))]], "5"),
        (
            "on of the method, off of the service",
            [[.init(.off(.service("Calculator")))], [.init(.on(.method(add)))]], "5"
        ),
        ("off above on", [[.init(.on(.method(add)))], [off]], "503 SWITCHED_OFF"),
        ("answer", [[.init(.answer(add, with: 7))]], "7"),
        ("answer above off", [[off], [.init(.answer(add, with: 7))]], "7"),
        ("an answer that does not fit", [[.init(.answer(add, with: "seven"))]], "5"),
        ("an answer of null", [[.init(.answer(add, with: .null))]], "5"),
        ("replace in the service", [[.init(.replaceMethod(add, by: .init("Calculator", "times")))]], "6"),
        ("replace by another service's", [[.init(.replaceMethod(add, by: .init("Other", "sum")))]], "105"),
        ("replace by another shape", [[.init(.replaceMethod(add, by: .init("Calculator", "name")))]], "5"),
        ("replace by what is not there", [[.init(.replaceMethod(add, by: .init("Gone", "sum")))]], "5"),
        (
            "replace by what is off",
            [[.init(.replaceMethod(add, by: .init("Other", "sum"))), .init(.off(.service("Other")))]],
            "503 SWITCHED_OFF"
        ),
        (
            "replace in a circle",
            [
                [
                    .init(.replaceMethod(add, by: .init("Other", "sum"))),
                    .init(.replaceMethod(.init("Other", "sum"), by: add)),
                ]
            ], "422 CYCLE"
        ),
        ("when the label is another", [[.init(.off(.method(add)), when: ["labels": ["region": "us"]])]], "5"),
        (
            "when the label is this", [[.init(.off(.method(add)), when: ["labels": ["region": "eu"]])]],
            "503 SWITCHED_OFF"
        ),
        (
            "share of none",
            [[.init(.off(.method(add)), when: ["share": ["percent": 0, "salt": "s"]])]], "5"
        ),
        (
            "share of all, by an argument",
            [[.init(.off(.method(add)), when: ["share": ["percent": 100, "salt": "s", "by": "a"]])]],
            "503 SWITCHED_OFF"
        ),
        (
            "share by an argument that is not there",
            [[.init(.off(.method(add)), when: ["share": ["percent": 100, "salt": "s", "by": "c"]])]], "5"
        ),
        ("a time to come", [[.init(.off(.method(add)), when: ["after": 9_000_000_000_000])]], "5"),
        (
            "a time that is", [[.init(.off(.method(add)), when: ["before": 9_000_000_000_000])]],
            "503 SWITCHED_OFF"
        ),
        (
            "the first that applies of several",
            [[.init(.answer(add, with: 9), when: ["labels": ["region": "eu"]]), off]], "9"
        ),
        ("a condition that is not known", [[.init(.off(.method(add)), when: ["moon": "full"])]], "5"),
    ]

    @Test(arguments: calls)
    func `a call ends as the maps say`(_ name: String, layers: [[RelocationEntry]], ending: String)
        async throws
    {
        let program = try Program()
        try program.router.relocate(layers.enumerated().map { .init(name: "layer\($0)", entries: $1) })
        #expect(await program.add() == ending, "\(name)")
        #expect(await program.add("add") == ending, "\(name)")
        let url = "scheme://services?protocol=Calculator&method=add&a=2&b=3"
        let opening = await program.router.open(url)
        #expect(opening.value?.text ?? "\(opening.code)" == ending, "\(name)")
        let found = program.router.resolveCall("Calculator", "add", arguments: .labeled(["a": 2, "b": 3]))
        #expect((found.error != nil) == ending.contains(" "), "\(name)")
        #expect(found.error.map { "\($0.code)" } ?? ending == ending, "\(name)")
        // What JSON writes of the entries is read as the same.
        for entry in layers.joined() { #expect(try RelocationEntry(entry.json) == entry) }
        try program.relocate()
        #expect(await program.add() == "5", "\(name): without the map all is as before")
    }

    @Test func `a fixed answer comes by position, by type and in each form`() async throws {
        let program = try Program()
        try program.relocate([RelocationEntry(.answer(Self.add, with: 7))])
        let services = program.router.services
        #expect(try await services.call("Calculator", "add", with: 1, 2, as: Int.self) == 7)
        #expect(
            try await services.call("Calculator", "add", arguments: .positional([1, 2]), result: .none)
                == .null)
        #expect(
            try await services.call("Calculator", "add", arguments: .positional([1, 2]), result: .reference)
                == "7")
    }

    @Test func `hooks are asked before an answer, and see the method that runs`() async throws {
        let program = try Program()
        let seen = Guarded<[String]>([])
        let hook = program.router.services.willCall { call in
            seen.withLock { $0.append("\(call.service).\(call.method)") }
            return .stop(reason: "no")
        }
        try program.relocate([RelocationEntry(.replaceMethod(Self.add, by: .init("Other", "sum")))])
        #expect(await program.add() == "403 INTERCEPTED")
        try program.relocate([RelocationEntry(.answer(Self.add, with: 7))])
        #expect(await program.add() == "403 INTERCEPTED")
        #expect(seen.withLock { $0 } == ["Other.sum(a:b:)", "Calculator.add(a:b:)"])
        hook.cancel()
        #expect(await program.add() == "7")
    }

    @Test func `the sentence of a map reaches callers`() async throws {
        let program = try Program()
        try program.relocate([RelocationEntry(.off(.method(Self.add), reason: "it adds wrongly"))])
        let failure = await #expect(throws: Failure.self) {
            try await program.router.services.call("Calculator", "add", arguments: .positional([1, 2]))
        }
        #expect(failure?.detail == "it adds wrongly" && failure?.code.isRetryable == false)
        #expect(failure?.code.isRejection == true)
        try program.relocate([Self.off])
        let plain = await #expect(throws: Failure.self) {
            try await program.router.services.call("Calculator", "add", arguments: .positional([1, 2]))
        }
        #expect(plain?.detail == "Calculator.add(a:b:) is switched off by entry 1 of layer0")
    }

    @Test func `what a program's calls follow is let go of with the map`() async throws {
        let program = try Program()
        func isGuarded() -> Bool { program.router.services.isGuarded.load(ordering: .relaxed) }
        #expect(!isGuarded())
        try program.relocate([Self.off])
        #expect(isGuarded())
        try program.relocate([RelocationEntry(.replace(origin: "app://x", target: "app://help"))])
        #expect(!isGuarded())
    }

    @Test func `a router that is gone does nothing more to the services that it shared`() async throws {
        let program = try Program()
        do {
            let other = Router(services: program.router.services)
            try other.relocate([.init(name: "agent", entries: [.init(.off(.method(Self.add)))])])
            #expect(await program.add() == "503 SWITCHED_OFF")
        }
        #expect(await program.add() == "5")
    }

    @Test func `what is switched off ends at once, when the map is in force`() async throws {
        let program = try Program()
        // Each call that begins after `relocate` has returned must end with the map, from whichever thread.
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<500 {
                        let wasOff = program.isOff.withLock { $0 }
                        let ending = await program.add()
                        if wasOff { return ending == "503 SWITCHED_OFF" }
                    }
                    return true
                }
            }
            _ = try? program.relocate([Self.off])
            program.isOff.withLock { $0 = true }
            for await isGood in group { #expect(isGood) }
        }
        #expect(await program.add() == "503 SWITCHED_OFF")
    }

    // MARK: Pages

    private static let shop = RelocationEntry(.off(.pages("app://shop/**")))
    private static let gate = RelocationEntry(.gate(pages: "app://shop/**", through: "login"))

    /// Layers of entries, the lower first, and how an open of `app://shop/tea?a=2` ends while the gate stops.
    static let pages: [(String, [[RelocationEntry]], String)] = [
        ("nothing", [], "opened app://shop/:item"),
        ("off of a subtree", [[shop]], "503 SWITCHED_OFF"),
        ("off of the URL", [[.init(.off(.pages("app://shop/tea")))]], "503 SWITCHED_OFF"),
        ("off of a pattern", [[.init(.off(.pages("app://shop/:what")))]], "503 SWITCHED_OFF"),
        ("off of another page", [[.init(.off(.pages("app://shop/coffee")))]], "opened app://shop/:item"),
        (
            "off, except", [[.init(.off(.pages("app://shop/**")), except: ["app://shop/tea"])]],
            "opened app://shop/:item"
        ),
        ("on above", [[shop], [.init(.on(.pages("app://shop/**")))]], "opened app://shop/:item"),
        (
            "on of what is narrower", [[shop, .init(.on(.pages("app://shop/tea")))]],
            "opened app://shop/:item"
        ),
        ("a gate that stops", [[gate]], "403 INTERCEPTED"),
        (
            "a gate that is not there", [[.init(.gate(pages: "app://shop/**", through: "gone"))]],
            "opened app://shop/:item"
        ),
        ("refused", [[.init(.refuse(pages: "app://shop/**", reason: "no"))]], "403 INTERCEPTED"),
        ("off above a gate", [[gate], [shop]], "503 SWITCHED_OFF"),
        (
            "a redirect to what is off",
            [
                [
                    .init(.replace(origin: "app://shop/tea", target: "app://help")),
                    .init(.off(.pages("app://help"))),
                ]
            ],
            "503 SWITCHED_OFF"
        ),
        (
            "a redirect away from what is off",
            [[.init(.replace(origin: "app://shop/tea", target: "app://help")), shop]], "opened app://help"
        ),
        (
            "a redirect that adds parameters, to what is off",
            [[.init(.replace(origin: "app://shop/tea", target: "app://shop/tea?x=1")), shop]],
            "503 SWITCHED_OFF"
        ),
        (
            "when", [[.init(.off(.pages("app://shop/**")), when: ["labels": ["region": "us"]])]],
            "opened app://shop/:item"
        ),
        (
            "share by a parameter of the URL",
            [
                [
                    .init(
                        .off(.pages("app://shop/**")),
                        when: ["share": ["percent": 100, "salt": "s", "by": "a"]])
                ]
            ],
            "503 SWITCHED_OFF"
        ),
        (
            "a time to come", [[.init(.off(.pages("app://shop/**")), when: ["after": 9_000_000_000_000])]],
            "opened app://shop/:item"
        ),
    ]

    @Test(arguments: pages)
    func `an open ends as the maps say`(_ name: String, layers: [[RelocationEntry]], ending: String)
        async throws
    {
        let program = try Program()
        program.decision.withLock { $0 = .stop(reason: "no user") }
        try program.router.relocate(layers.enumerated().map { .init(name: "layer\($0)", entries: $1) })
        #expect(await program.open("app://shop/tea?a=2") == ending, "\(name)")
        #expect(await program.open("app://nowhere") == "404 NO_ROUTE", "\(name)")
        let found = program.router.resolve("app://shop/tea?a=2")
        switch ending {
        case "503 SWITCHED_OFF": #expect(found.error?.code == .switchedOff, "\(name)")
        case "403 INTERCEPTED": #expect(!found.interceptors.isEmpty && found.error == nil, "\(name)")
        default: #expect(found.error == nil && found.interceptors.isEmpty, "\(name)")
        }
        if !ending.hasPrefix("opened app://shop") { #expect(program.ran.withLock { $0.isEmpty }, "\(name)") }
        for entry in layers.joined() { #expect(try RelocationEntry(entry.json) == entry) }
    }

    @Test func `a gate may let pass, redirect, wait and refuse`() async throws {
        let program = try Program()
        try program.relocate([Self.gate])
        #expect(program.router.resolve("app://shop/tea").interceptors == ["login"])
        #expect(await program.open("app://shop/tea") == "opened app://shop/:item")
        program.decision.withLock { $0 = .redirect(to: "app://login") }
        #expect(await program.open("app://shop/tea") == "opened app://login")
        let door = OpenGate("door")
        program.decision.withLock { $0 = .wait(for: door, atMost: .seconds(60)) }
        async let opening = program.open("app://shop/tea")
        try await eventually("it waits") { program.router.waitingOpens.first?.interceptor == "login" }
        program.decision.withLock { $0 = .proceed }
        door.open()
        #expect(await opening == "opened app://shop/:item")
    }

    @Test func `a map that comes while a gate holds an open counts for it`() async throws {
        let program = try Program()
        let door = OpenGate("door")
        program.decision.withLock { $0 = .wait(for: door, atMost: .seconds(60)) }
        try program.relocate([Self.gate])
        async let opening = program.open("app://shop/tea")
        try await eventually("it waits") { !program.router.waitingOpens.isEmpty }
        try program.relocate([Self.shop])
        door.open()
        #expect(await opening == "503 SWITCHED_OFF")
    }

    @Test func `a gate is not asked again when its map was taken away while it held an open`() async throws {
        let program = try Program()
        let door = OpenGate("door")
        program.decision.withLock { $0 = .wait(for: door, atMost: .seconds(60)) }
        try program.relocate([Self.gate])
        async let opening = program.open("app://shop/tea")
        try await eventually("it waits") { !program.router.waitingOpens.isEmpty }
        program.decision.withLock { $0 = .stop(reason: "later") }
        try program.relocate()
        door.open()
        #expect(await opening == "opened app://shop/:item")
    }

    @Test func `the last gate of a name counts, and one that is taken away is inactive`() async throws {
        let program = try Program()
        let handle = program.router.gate("login") { _ in .stop(reason: "later") }
        #expect(try program.relocate([Self.gate]).inactive.isEmpty)
        #expect(await program.open("app://shop/tea") == "403 INTERCEPTED")
        handle.cancel()
        #expect(await program.open("app://shop/tea") == "opened app://shop/:item")
    }

    @Test func `a page that is off or gated is not shown below another`() async throws {
        let program = try Program()
        let parents = Guarded<[String]>([])
        try program.router.register([
            Route("app://tree", name: "tree") { _ in .opened() },
            Route("app://tree/leaf", name: "leaf") { request in
                parents.withLock { $0 = request.parents.map(\.name) }
                return .opened()
            },
        ])
        func shown(_ entries: [RelocationEntry]) async throws -> [String] {
            try program.relocate(entries)
            #expect(
                await program.router.open("app://tree/leaf", parameters: ["route_parents": true]).isSuccess)
            return parents.withLock { $0 }
        }
        program.decision.withLock { $0 = .stop(reason: "no") }
        #expect(try await shown([]) == ["tree"])
        #expect(try await shown([.init(.off(.pages("app://tree")))]) == [])
        #expect(try await shown([.init(.gate(pages: "app://tree", through: "login"))]) == [])
        program.decision.withLock { $0 = .proceed }
        #expect(try await shown([.init(.gate(pages: "app://tree", through: "login"))]) == ["tree"])
    }

    // MARK: What does nothing

    /// Entries that are in force and do nothing here, and what is said of them.
    static let inactive: [(RelocationEntry, String)] = [
        (.init(.off(.service("Calculater"))), "no service Calculater is exposed; similar are Calculator"),
        (
            .init(.off(.method(.init("Calculator", "ad")))),
            "Calculator exposes no method ad; similar are add(a:b:)"
        ),
        (.init(.answer(add, with: "x")), "the value is no Int: it"),
        (.init(.answer(add, with: .null)), "the value is null, and Int is not optional"),
        (
            .init(.replaceMethod(add, by: .init("Calculator", "name"))),
            "Calculator.name has another shape: () -> String, and not (a: Int, b: Int) -> Int"
        ),
        (.init(.replaceMethod(add, by: .init("Gone", "x"))), "no service Gone is exposed"),
        (
            .init(.gate(pages: "app://shop/**", through: "logn")),
            "the program has no gate logn; similar are login"
        ),
        (.init(.off(.pages("app://shpo/**"))), "no route matches app://shpo/**"),
        (.init(.off(.pages("ap://shop/**"))), "no registered route has the scheme ap"),
        (.init(.off(.method(add)), when: ["targets": ["of": [], "salt": "s"]]), "when.targets"),
    ]

    @Test(arguments: inactive)
    func `what does not fit this build is inactive, and says why`(_ entry: RelocationEntry, reason: String)
        throws
    {
        let report = try Program().relocate([entry])
        #expect(report.inactive.first?.reason.hasPrefix(reason) == true, "\(report.inactive)")
    }

    /// What is refused, and a part of the sentence.
    static let refused: [(JSONValue, Code, String)] = [
        (
            ["routerType": "teleport", "path": "app://a"], .unknownKind,
            "routerType teleport is not known in this version"
        ),
        (
            ["routerType": "1"], .badField,
            "it must be 1, 2, 3 or 4, or a name: off, on, answer, replace, gate"
        ),
        (["routerType": "off"], .badField, "path must be there, or service, perhaps with method"),
        (
            ["routerType": "off", "path": "app://a", "service": "S"], .badField,
            "path must be there, or service"
        ),
        (["routerType": "off", "method": "m"], .badField, "path must be there, or service"),
        (["routerType": "off", "service": 7], .badField, "service is an integer; it must be a string"),
        (
            ["routerType": "off", "service": "S", "code": 1012], .badField,
            "code must be 1000 to 9999, with a name"
        ),
        (
            ["routerType": "off", "service": "S", "code": 404, "name": "NO"], .badField,
            "code must be 1000 to 9999"
        ),
        (
            ["routerType": "off", "service": "S", "code": 1012, "name": "no"], .badField,
            "code must be 1000 to 9999"
        ),
        (["routerType": "off", "service": "S", "params": ["a": 1]], .badField, "params is only allowed"),
        (
            ["routerType": "off", "service": "S", "method": "m", "except": ["x"]], .badField,
            "except is only allowed"
        ),
        (
            ["routerType": "off", "service": "S", "reason": .string(String(repeating: "x", count: 501))],
            .badField, "500 bytes"
        ),
        (["routerType": "off", "path": "app://a/:"], .badField, "path: "),
        (["routerType": "answer", "service": "S", "value": 1], .badField, "method is missing"),
        (["routerType": "answer", "service": "S", "method": "m"], .badField, "value is missing"),
        (["routerType": "replace", "service": "S", "method": "m"], .badField, "by must be an object"),
        (
            ["routerType": "replace", "service": "S", "method": "m", "by": ["service": "T"]], .badField,
            "method is missing"
        ),
        (
            ["routerType": "gate", "path": "app://a"], .badField,
            "gate must be there, or reason, and not both"
        ),
        (
            ["routerType": "gate", "path": "app://a", "gate": "g", "reason": "r"], .badField,
            "gate must be there"
        ),
        (["routerType": "gate", "gate": "g"], .badField, "path is missing"),
        (
            [
                ["routerType": "off", "service": "S", "method": "m"],
                ["routerType": "answer", "service": "S", "method": "m", "value": 1],
            ], .badField, "S.m is the subject of entry 1 already"
        ),
        (
            [
                ["routerType": "off", "path": "app://a/:x"],
                ["routerType": "gate", "path": "app://a/:y", "gate": "g"],
            ],
            .badField, "app://a/:y is switched off or gated by entry 1 already"
        ),
    ]

    @Test(arguments: refused)
    func `what can't be read refuses the document, in one sentence`(
        _ json: JSONValue, code: Code, detail: String
    ) {
        let error = #expect(throws: RelocationError.self) { try RelocationEntry.list(json) }
        #expect(error?.code == code && error?.detail.contains(detail) == true, "\(error as Any)")
    }

    /// Entries about a service URL, each of which must say what to use instead.
    static let serviceURLs: [RelocationEntry] = [
        .init(.delete(path: "scheme://services")), .init(.add(path: "scheme://services", className: "X")),
        .init(.replace(origin: "scheme://services?protocol=P&method=m", target: "app://help")),
        .init(.replace(origin: "app://shop/tea", target: "scheme://services?protocol=P")),
        .init(.replace(origin: "scheme://services/**", target: "app://shop/**")),
        .init(.off(.pages("scheme://services"))), .init(.off(.pages("scheme://services/**"))),
        .init(.gate(pages: "scheme://services?protocol=P", through: "login")),
    ]

    @Test(arguments: serviceURLs)
    func `an entry about a service URL says what to use instead`(_ entry: RelocationEntry) throws {
        let program = try Program()
        let error = #expect(throws: RelocationError.self) { try program.relocate([entry]) }
        #expect(error?.code == .notAllowed, "\(error as Any)")
        #expect(error?.detail.contains(#"{"routerType":"off","service":"#) == true, "\(error as Any)")
    }

    // MARK: Before it is sent

    @Test func `a contract has the gates and the kinds, and says what an older agent refuses`() throws {
        let program = try Program()
        let contract = try RouterContract(program.router.contract.json)
        #expect(contract.gates == ["login"] && contract.mapKinds == RelocationEntry.namedKinds)
        let redirect = RelocationEntry(.replace(origin: "app://x", target: "app://help"))
        #expect(contract.unknownKind(in: [redirect, Self.off, Self.gate]) == nil)
        var older = contract.json.objectValue ?? [:]
        older["mapKinds"] = nil
        let old = try RouterContract(.object(older))
        #expect(old.unknownKind(in: [redirect]) == nil)
        let failure = old.unknownKind(in: [redirect, Self.off])
        #expect(failure?.code == .unknownKind && failure?.detail.hasPrefix("entry 2: routerType off") == true)
    }

    /// Entries, and what a check of the program's contract says of them: the kind of the finding, the field, and nothing.
    static let checked: [(RelocationEntry, CheckReport.Finding.Kind?)] = [
        (off, nil), (shop, nil), (gate, nil), (.init(.answer(add, with: 1)), nil),
        (.init(.on(.service("Calculator"))), nil),
        (.init(.off(.service("Calculater"))), .deadEntry), (.init(.answer(add, with: "x")), .deadEntry),
        (.init(.replaceMethod(add, by: .init("Calculator", "name"))), .deadEntry),
        (.init(.gate(pages: "app://shop/**", through: "logn")), .deadEntry),
        (.init(.off(.pages("app://shpo/**"))), .deadEntry),
        (.init(.off(.method(add)), when: ["moon": "full"]), .neverApplies),
        (.init(.off(.pages("app://sh\u{200B}op"))), .deadEntry),
        (.init(.gate(pages: "app://shop/**", through: "login\u{200B}")), .unseenCharacter),
        (.init(.off(.pages("scheme://services"))), .refused),
        (
            .init(
                .off(.method(add)),
                when: ["build": ">=2 <1"]), .neverApplies
        ),
    ]

    @Test(arguments: checked)
    func `a check of a map says what is wrong with it`(
        _ entry: RelocationEntry, kind: CheckReport.Finding.Kind?
    ) throws {
        let map = CheckedMap(name: "map.json", entries: [entry.json], maximum: 10)
        let report = Router.check(
            try Program().router.contract, maps: [map], configuration: .init()
        ) { _ in nil }
        let kinds = report.findings.filter(\.kind.isMistake).map(\.kind)
        #expect(kind.map(kinds.contains) ?? kinds.isEmpty, "\(report.findings)")
        // A list of routes alone says nothing of services and gates.
        let list = Router.check(
            routes: try Program().router.routes, layers: [.init(name: "map.json", entries: [entry])])
        if kind == nil { #expect(list.isClean, "\(list.findings)") }
    }
}
