import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Hooks before a call` {
    final class Printer: Sendable {
        let printed = Guarded<[String]>([])
        func print(_ text: String) { printed.withLock { $0.append(text) } }
        var all: [String] { printed.withLock { $0 } }
    }

    private func router(_ printer: Printer) throws -> Router {
        let router = Router()
        try router.services.expose(
            ExposedService("Printer", instance: printer) {
                Exposed("print(_:)", selector: "printText:") { (printer: Printer, text: String) in
                    printer.print(text)
                }
            })
        return router
    }

    /// The ways in which a method is called; each returns the code of the call.
    static let ways: [(String, @Sendable (Router, OpenContext) async -> Code)] = [
        ("its name", { await call($0, "print(_:)", $1) }), ("its base", { await call($0, "print", $1) }),
        ("its selector", { await call($0, "printText:", $1) }),
        (
            "a service URL",
            {
                await $0.open(
                    "scheme://services?protocol=Printer&method=print&ivar1=x", context: $1
                ).code
            }
        ),
        (
            "a service URL that a hook of opens led to",
            { router, context in
                let handle = router.willOpen { _ in
                    .open("scheme://services?protocol=Printer&method=printText:&ivar1=x")
                }
                defer { handle.cancel() }
                return await router.open("scheme://services?protocol=P&method=m", context: context).code
            }
        ),
        (
            "a handler that hands its context on",
            { router, context in
                _ = try? router.register("a://print", replacing: true) { request in
                    let result = await ending {
                        try await router.services.call(
                            "Printer", "print", arguments: .positional(["x"]), context: request.context)
                    }
                    return .opened(try result.get())
                }
                let opening = await router.open("a://print", context: context)
                return opening.detail.contains("403 INTERCEPTED") ? .intercepted : opening.code
            }
        ),
    ]

    private static func call(_ router: Router, _ method: String, _ context: OpenContext) async -> Code {
        let result = await ending {
            try await router.services.call(
                "Printer", method, arguments: .positional(["x"]), context: context)
        }
        return switch result {
        case .success: .ok
        case .failure(let failure): failure.code
        }
    }

    @Test(arguments: ways.indices) func `a hook is asked for every call, with the caller, and may stop it`(
        index: Int
    ) async throws {
        let printer = Printer()
        let router = try router(printer)
        let calls = Guarded<[String]>([])
        let handle = router.services.willCall("operators") { call in
            let context = call.context
            calls.withLock {
                $0.append(
                    "\(call.service).\(call.method) \(context.caller ?? "-") \(context.ref ?? "-") \(context.attempt)"
                )
            }
            return context.caller == "ops" ? .proceed : .stop(reason: "ops only")
        }
        let way = Self.ways[index].1
        #expect(await way(router, OpenContext(ref: "c-1", caller: "me", attempt: 2)) == .intercepted)
        #expect(printer.all.isEmpty)
        #expect(await way(router, OpenContext(ref: "c-2", caller: "ops")) == .ok)
        #expect(printer.all == ["x"])
        #expect(
            calls.withLock { $0 } == ["Printer.print(_:) me c-1 2", "Printer.print(_:) ops c-2 1"])
        handle.cancel()
        #expect(await way(router, OpenContext(caller: "me")) == .ok)
        #expect(calls.withLock { $0.count } == 2)
    }

    @Test func `a stopped call runs nothing, and is heard as intercepted`() async throws {
        let printer = Printer()
        let router = try router(printer)
        let kinds = Guarded<[String]>([])
        router.services.observe { event in kinds.withLock { $0.append("\(event.kind) \(event.code)") } }
        router.observe { event in kinds.withLock { $0.append("\(event.kind) \(event.code)") } }
        router.services.willCall("closed") { _ in .stop(reason: "no paper") }
        let context = OpenContext(beforeHandler: { _ in Issue.record("the start would be stored") })
        let opening = await router.open(
            "scheme://services?protocol=Printer&method=print&ivar1=x", context: context)
        #expect(opening.outcome == .intercepted(by: "closed", reason: "no paper"))
        let result = await ending {
            try await router.services.call(
                "Printer", "print", arguments: .positional(["x"]), context: context)
        }
        #expect(result == .failure(Failure(.intercepted, "intercepted by closed: no paper")))
        #expect(printer.all.isEmpty)
        #expect(
            kinds.withLock { $0 } == [
                "willOpen 0 OK", "threw 403 INTERCEPTED", "intercepted 403 INTERCEPTED",
                "threw 403 INTERCEPTED",
            ])
    }

    @Test func `hooks are asked in order until one stops, see the arguments, and may wait`() async throws {
        let printer = Printer()
        let router = try router(printer)
        let seen = Guarded<[ServiceArguments]>([])
        router.services.willCall("first", deadline: nil) { call in
            await Task.yield()
            seen.withLock { $0.append(call.arguments) }
            return .proceed
        }
        router.services.willCall("second") { call in
            call.arguments == .positional(["secret"]) ? .stop(reason: "not this") : .proceed
        }
        router.services.willCall("third") { call in
            seen.withLock { $0.append(call.arguments) }
            return .proceed
        }
        for arguments in [ServiceArguments.positional(["secret"]), .labeled(["ivar1": "public"])] {
            _ = await ending { try await router.services.call("Printer", "print", arguments: arguments) }
        }
        #expect(printer.all == ["public"])
        #expect(
            seen.withLock { $0 } == [
                .positional(["secret"]), .labeled(["ivar1": "public"]), .labeled(["ivar1": "public"]),
            ])
    }

    @Test func `what no method takes asks no hook, and one that takes too long ends the call`() async throws {
        let printer = Printer()
        let router = try router(printer)
        let gate = Gate()
        router.services.willCall("slow", deadline: .milliseconds(5)) { _ in
            await gate.wait()
            return .proceed
        }
        #expect(await Self.call(router, "none", OpenContext()) == .noMethod)
        #expect(await Self.call(router, "print", OpenContext()) == .deadline)
        gate.open()
        #expect(printer.all.isEmpty)
    }

    @Test func `a hook that calls services itself comes to an end`() async throws {
        let printer = Printer()
        let router = try router(printer)
        let codes = Guarded<[Code]>([])
        router.services.willCall { _ in
            let nested = await Self.call(router, "print", OpenContext())
            codes.withLock { $0.append(nested) }
            return .proceed
        }
        #expect(await Self.call(router, "print", OpenContext()) == .ok)
        #expect(codes.withLock { $0.first } == .chain)
    }
}

@Suite(.patient) struct `Ask for the context of a call` {
    actor Desk {
        private(set) var notes: [String] = []
        func note(_ text: String, for caller: String?) -> Int {
            notes.append("\(caller ?? "-"): \(text)")
            return notes.count
        }
        func clear() { notes = [] }
    }

    final class Sync: Sendable {
        let last = Guarded("")
    }

    private static let context = OpenContext(ref: "c-7", caller: "ops", attempt: 2)

    private static func text(_ context: OpenContext) -> String {
        "\(context.caller ?? "-") \(context.ref ?? "-") \(context.attempt)"
    }

    private func registry() throws -> ServiceRegistry {
        let registry = ServiceRegistry()
        try registry.expose([
            ExposedService("Desk", make: Desk.init) {
                Exposed("note(_:)") { (desk: Desk, context: OpenContext, text: String) in
                    await desk.note(text, for: context.caller)
                }
                Exposed("clear()", idempotent: true) { (desk: Desk, context: OpenContext) in
                    guard context.caller == "ops" else { throw Failure(.notAllowed, "ops only") }
                    await desk.clear()
                }
            },
            ExposedService("Sync", make: { Sync() }) {
                Exposed("who(prefix:)") { (_: Sync, context: OpenContext, prefix: String) in
                    prefix + Self.text(context)
                }
                Exposed("keep(_:and:)") { (sync: Sync, context: OpenContext, one: Int, other: Int?) in
                    sync.last.withLock { $0 = "\(Self.text(context)) \(one) \(other ?? 0)" }
                }
                Exposed("last()") { (sync: Sync) in sync.last.withLock { $0 } }
            },
        ])
        return registry
    }

    @Test func `a method learns who calls, with await and without, with a result and without`() async throws {
        let registry = try registry()
        #expect(
            try await registry.call(
                "Desk", "note", arguments: .positional(["x"]), deadline: nil, context: Self.context) == 1)
        #expect(
            try await registry.call("Desk", "clear", deadline: nil, context: Self.context) == JSONValue.null)
        let refused = await ending {
            try await registry.call(
                "Desk", "clear", deadline: nil, context: OpenContext(caller: "me"))
        }
        #expect(refused == .failure(Failure(.notAllowed, "ops only")))
        #expect(
            try await registry.call(
                "Sync", "who", arguments: .labeled(["prefix": "> "]), context: Self.context) == "> ops c-7 2")
        #expect(
            try await registry.call("Sync", "keep", arguments: .positional([1, 2]), context: Self.context)
                == JSONValue.null)
        #expect(try await registry.call("Sync", "last") == "ops c-7 2 1 2")
        // The program itself has no name.
        #expect(
            try await registry.call("Sync", "who(prefix:)", arguments: .positional([""])) == "- - 1")
    }

    @Test func `a service URL hands the context of its open on`() async throws {
        let router = Router(services: try registry())
        let opening = await router.open(
            "scheme://services?protocol=Sync&method=who&prefix=", context: Self.context)
        #expect(opening.value == "ops c-7 2")
    }

    @Test func `it stands in no name and no contract, and no caller can send one`() async throws {
        let registry = try registry()
        let sync = try #require(registry.services.first { $0.name == "Sync" })
        #expect(sync.methods.map(\.name) == ["who(prefix:)", "keep(_:and:)", "last()"])
        #expect(sync.methods.map { $0.arguments.map(\.label) } == [["prefix"], ["_", "and"], []])
        #expect(sync.methods[0].selector == "whoWithPrefix:")
        let sent: [String: JSONValue] = ["prefix": "", "context": ["caller": "ops"]]
        guard
            case .failure(let failure) = await ending({
                try await registry.call("Sync", "who", arguments: .labeled(sent))
            })
        else {
            Issue.record("a context was taken from outside")
            return
        }
        #expect(failure.code == .badField)
    }
}
