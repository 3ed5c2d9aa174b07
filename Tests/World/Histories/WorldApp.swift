import Threading
import Waypost

/// The program around an agent: handlers of each kind, and what maps lead elsewhere.
final class WorldApp: Sendable {
    private struct Failed: Error {}

    /// What its services are made of.
    private struct Switch: Sendable {}

    /// What it tells of what begins.
    struct Observers: Sendable {
        /// Before a handler that must not be repeated does anything.
        var ran: @Sendable (Int) -> Void = { _ in }
        /// Before one that may be repeated does.
        var begins: @Sendable (Int) -> Void = { _ in }
        /// From one that may be repeated; it need not return.
        var ends: @Sendable (Int) -> Void = { _ in }
        /// From what maps decide about, in the layer of the agent, or of the fleet.
        var enters: @Sendable (_ name: String, SentMaps.Entry) -> Void = { _, _ in }
    }

    private let tells: Observers
    /// What opens wait for at its gate.
    private let bell = OpenGate("bell")
    private let isRung = Guarded(false)
    /// What its gate let pass.
    private let passed = Guarded<Set<Int>>([])

    init(_ observers: Observers = Observers()) { tells = observers }

    /// Lets all pass that wait at the gate, and all that come.
    func ring() {
        isRung.withLock { $0 = true }
        bell.open()
    }

    func register(on router: Router) throws {
        let tells = tells
        try registerHandlers(on: router)
        try router.register("shop://via/:name", idempotent: true) { _ in .opened("on the way") }
        try router.register("shop://at/:name", idempotent: true) { request in
            .opened(JSONValue(try request.parameters.value("name", as: String.self)))
        }
        try router.register("shop://broken/:name", idempotent: true) { _ in throw Failed() }
        for name in ["agent", "fleet"] {
            try router.register("shop://where/\(name)", idempotent: true) { _ in
                .opened(JSONValue("\(name)-0"))
            }
            try router.register("shop://door/\(name)", idempotent: true) { _ in
                tells.enters(name, .door)
                return .opened("open")
            }
            try router.register("shop://hall/\(name)/:number") { [self] request in
                let number = Self.number(request)
                let hasPassed = passed.withLock { $0.contains(number) }
                tells.enters(name, .hall(number, hasPassed: hasPassed))
                tells.ran(number)
                return .opened("open")
            }
        }
        for (service, name) in [("AgentSwitch", "agent"), ("FleetSwitch", "fleet")] {
            try router.services.expose(
                ExposedService(service, instance: Switch()) {
                    Exposed("read()", idempotent: true) { (_: Switch) in
                        tells.enters(name, .read)
                        return -1
                    }
                    Exposed("other()", idempotent: true) { (_: Switch) in
                        tells.enters(name, .other)
                        return -2
                    }
                })
        }
        router.gate("doorman") { [self] request in asks(request) }
    }

    private func asks(_ request: RouteRequest) -> InterceptorDecision {
        tells.enters(request.url.text.contains("hall/agent/") ? "agent" : "fleet", .gate)
        let number = Self.number(request)
        switch SentMaps.passage(number) {
        case .stops: return .stop(reason: "closed by 0")
        case .waits where !isRung.withLock(\.self): return .wait(for: bell, atMost: .seconds(15))
        case .waits, .passes:
            _ = passed.withLock { $0.insert(number) }
            return .proceed
        }
    }

    private func registerHandlers(on router: Router) throws {
        let tells = tells
        try router.register("shop://add/:number") { request in
            tells.ran(Self.number(request))
            return .opened()
        }
        try router.register("shop://slow/:number") { request in
            tells.ran(Self.number(request))
            var chance = Chance()
            try await MonotonicTime.sleep(for: .milliseconds(Int64.random(in: 0...2_000, using: &chance)))
            return .opened()
        }
        try router.register("shop://block/:number") { request in
            tells.ran(Self.number(request))
            CurrentThread.sleep(for: .milliseconds(150))
            return .opened()
        }
        try router.register("shop://many/:number", idempotent: true) { request in
            tells.begins(Self.number(request))
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { await Task.yield() } }
            }
            return .opened()
        }
        try router.register("shop://end/:number", idempotent: true) { request in
            tells.begins(Self.number(request))
            tells.ends(Self.number(request))
            return .opened()
        }
        try router.register("shop://fail/:number") { request in
            tells.ran(Self.number(request))
            throw Failed()
        }
    }

    private static func number(_ request: RouteRequest) -> Int {
        (try? request.parameters.value("number", as: Int.self)) ?? -1
    }
}
