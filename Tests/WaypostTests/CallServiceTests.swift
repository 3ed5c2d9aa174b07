import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Call a service` {
    struct Calculator: Sendable {
        struct Overflow: Error {}
        func add(a: Int, b: Int) throws -> Int {
            let (sum, overflow) = a.addingReportingOverflow(b)
            if overflow { throw Overflow() }
            return sum
        }
    }

    protocol AppConfigServiceProtocol: Sendable {
        func openMiniProgram(info: [String: JSONValue]) -> [String: JSONValue]
    }

    struct ConfigModuleService: AppConfigServiceProtocol {
        func openMiniProgram(info: [String: JSONValue]) -> [String: JSONValue] { info }
    }

    struct Point: Codable, Sendable, Equatable {
        var x: Int
        var tags: [String]?
    }

    func calculator() throws -> ServiceRegistry {
        let registry = ServiceRegistry(clock: EndlessClock())
        try registry.expose(
            ExposedService("CalculatorService", make: Calculator.init) {
                Exposed("add(a:b:)", idempotent: true) { (s: Calculator, a: Int, b: Int) in
                    try s.add(a: a, b: b)
                }
                Exposed("place(at:)") { (_: Calculator, point: Point) in point }
                Exposed("scale(_:)") { (_: Calculator, factor: Int?) in factor ?? -1 }
                Exposed("get(key:)") { (_: Calculator, key: String) in key }
                Exposed("get(index:)", selector: "objectAtIndex:") { (_: Calculator, index: Int) in index }
                Exposed("ping()") { (_: Calculator) in }
            })
        registry.register((any AppConfigServiceProtocol).self) { ConfigModuleService() }
        try registry.expose(
            ExposedService("AppConfigServiceProtocol", of: (any AppConfigServiceProtocol).self) {
                Exposed("openMiniProgram(info:)") {
                    (s: any AppConfigServiceProtocol, info: [String: JSONValue]) in
                    s.openMiniProgram(info: info)
                }
            })
        return registry
    }

    static let good: [(String, ServiceArguments, JSONValue)] = [
        ("add(a:b:)", .positional([1, 2]), 3), ("add", .labeled(["a": 1, "b": 2]), 3),
        ("addWithA:b:", .labeled(["ivar1": 1, "ivar2": 2]), 3), ("add", .labeled(["a": 1, "ivar2": 2]), 3),
        ("placeAt:", .positional([["x": 1]]), ["x": 1]),
        ("placeWithAt:", .labeled(["at": ["x": 2]]), ["x": 2]),
        ("scale:", .positional([]), -1), ("scale(_:)", .positional([4]), 4), ("scale", .labeled([:]), -1),
        ("objectAtIndex:", .positional([7]), 7), ("getWithKey:", .positional(["k"]), "k"),
        ("ping", .positional([]), .null),
    ]

    @Test(arguments: good)
    func `a method is found by its names and takes arguments by place and label`(
        method: String, arguments: ServiceArguments, result: JSONValue
    ) async throws {
        let answer = try await calculator().call("CalculatorService", method, arguments: arguments)
        #expect(answer == result)
    }

    static let bad: [(String, ServiceArguments, Int, String, String?)] = [
        ("add", .positional([1, "x"]), 422, "argument \"b\" of add(a:b:)", "b"),
        ("add", .positional(["1", 2]), 422, "argument \"a\" of add(a:b:)", "a"),
        ("add", .positional([1]), 422, "\"b\" of add(a:b:) is missing (Int)", "b"),
        ("add", .positional([1, 2, 3]), 422, "takes 2 arguments but got 3", nil),
        ("add", .labeled(["a": 1, "c": 2]), 422, "no argument \"c\"", "c"),
        ("add", .positional([1, 2.5]), 422, "is a number", "b"),
        ("add", .positional([1, .int(.max)]), 500, "Overflow", nil),
        ("place", .positional([["x": 1, "tags": ["a", 2]]]), 422, "\"at.tags[1]\"", "at"),
        ("get", .positional([1]), 404, "ambiguous: get(key:), get(index:)", nil),
        ("adds", .positional([1]), 404, "no method adds", nil),
        ("init", .positional([]), 404, "no method init", nil),
    ]

    @Test(arguments: bad)
    func `a call that does not fit is refused with its code and names the place`(
        method: String, arguments: ServiceArguments, code: Int, part: String, argument: String?
    ) async throws {
        let registry = try calculator()
        let failure = try #require(
            await #expect(throws: Failure.self) {
                try await registry.call("CalculatorService", method, arguments: arguments)
            })
        #expect(failure.code.number == code)
        #expect(failure.detail.contains(part))
        if let argument { #expect(failure.detail.contains("\"\(argument)")) }
    }

    @Test func `an unknown name is answered with those that are near`() async throws {
        let registry = try calculator()
        guard
            case .failure(let service) = await ending({ try await registry.call("CalculatorServise", "add") }),
            case .failure(let method) = await ending({
                try await registry.call("CalculatorService", "addd(a:b:)")
            })
        else {
            Issue.record("called")
            return
        }
        #expect(service.code == .noService)
        #expect(service.nearest == ["CalculatorService"])
        #expect(method.code == .noMethod)
        #expect(method.nearest.first == "add(a:b:)")
    }

    @Test func `TheRouter's mini program opens by its selector`() async throws {
        let answer = try await calculator().call(
            "AppConfigServiceProtocol", "openMiniProgramWithInfo:",
            arguments: .labeled(["ivar1": ["key": "value"]]))
        #expect(answer == ["key": "value"])
    }

    @Test func `the wanted form of the result is given`() async throws {
        let registry = try calculator()
        let arguments = ServiceArguments.positional([["x": 1]])
        let none = await ending {
            try await registry.call("CalculatorService", "place", arguments: arguments, result: .none)
        }
        let words = await ending {
            try await registry.call(
                "CalculatorService", "place", arguments: arguments, result: .reference)
        }
        #expect(none == .success(.null))
        #expect(words == .success("Point(x: 1, tags: nil)"))
    }

    @Test func `a method's description says what it takes and whether it may run again`() throws {
        let method = try #require(try calculator().method("CalculatorService", "add"))
        #expect(method.name == "add(a:b:)")
        #expect(method.selector == "addWithA:b:")
        let int = MethodDescription.Value(of: Int.self)
        #expect(method.arguments == [.init(label: "a", value: int), .init(label: "b", value: int)])
        #expect(method.result == int && int.type == "Int" && int.schema == ValueSchema(.integer))
        #expect(method.idempotent)
        #expect(try calculator().services.map(\.name) == ["AppConfigServiceProtocol", "CalculatorService"])
    }

    @Test func `what is not on the allow-list is not called`() async throws {
        let registry = try calculator()
        registry.allowOnly(["CalculatorService.add(a:b:)"])
        let add = await ending {
            try await registry.call("CalculatorService", "add", arguments: .positional([1, 2]))
        }
        let ping = await ending { try await registry.call("CalculatorService", "ping") }
        #expect(add == .success(3))
        guard case .failure(let failure) = ping else {
            Issue.record("called")
            return
        }
        #expect(failure.code == .notAllowed)
    }

    @Test func `a method that ignores its cancellation does not hold the caller`() async throws {
        let gate = Gate()
        let registry = ServiceRegistry()
        try registry.expose(
            ExposedService("Slow", instance: gate) { Exposed("wait()") { (gate: Gate) in await gate.wait() } }
        )
        let late = await ending { try await registry.call("Slow", "wait", deadline: .milliseconds(5)) }
        guard case .failure(let failure) = late else {
            Issue.record("returned")
            return
        }
        #expect(failure.code == .deadline)
        let caller = Task { await ending { try await registry.call("Slow", "wait", deadline: nil) } }
        caller.cancel()
        guard case .failure(let canceled) = await caller.value else {
            Issue.record("returned")
            return
        }
        #expect(canceled.code == .canceled)
        gate.open()
    }

    @Test func `every call is heard with its outcome until the handle is cancelled`() async throws {
        let registry = try calculator()
        let heard = Guarded<[ServiceEvent]>([])
        let handle = registry.observe { event in heard.withLock { $0.append(event) } }
        _ = await ending {
            try await registry.call(
                "CalculatorService", "add", arguments: .positional([1, 2]), context: OpenContext(ref: "c-1"))
        }
        _ = await ending {
            try await registry.call("CalculatorService", "nothing", context: OpenContext(ref: "c-2"))
        }
        handle.cancel()
        _ = await ending {
            try await registry.call("CalculatorService", "add", arguments: .positional([1, 2]))
        }
        let events = heard.withLock { $0 }
        #expect(events.map(\.kind) == [.called, .returned, .threw])
        #expect(events.map(\.ref) == ["c-1", "c-1", "c-2"])
        #expect(events[2].code.number == 404)
    }

    @Test func `a method that cannot be called is refused when it is exposed`() {
        let registry = ServiceRegistry()
        for name in ["add(a:)", "add(a:b", "a b(c:d:)", "add(a:,b:)", ""] {
            #expect(throws: RegistrationError.self) {
                try registry.expose(
                    ExposedService("S", make: Calculator.init) {
                        Exposed(name) { (s: Calculator, a: Int, b: Int) in try s.add(a: a, b: b) }
                    })
            }
        }
        #expect(registry.services.isEmpty)
    }

    @Test(
        arguments: [
            (Duration.milliseconds(5), Duration?.none), (.milliseconds(5), .seconds(600)),
            (nil, .milliseconds(5)),
        ] as [(Duration?, Duration?)])
    func `a call ends after the context's time, or else after its own`(
        _ ofContext: Duration?, _ ofCall: Duration?
    ) async throws {
        let registry = ServiceRegistry()
        try registry.expose(
            ExposedService("Desk", make: Calculator.init) {
                Exposed("wait()") { (_: Calculator) async throws in
                    try await Task.sleep(for: .seconds(600))
                }
            })
        let failure = await #expect(throws: Failure.self) {
            try await registry.call(
                "Desk", "wait", deadline: ofCall, context: OpenContext(deadline: ofContext))
        }
        #expect(failure?.code == .deadline)
    }
}

/// Lets waiting tasks through once it was opened, cancelled or not.
final class Gate: Sendable {
    private let state = Guarded<(open: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.open { state.waiting.append(continuation) }
                return state.open
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.open = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
