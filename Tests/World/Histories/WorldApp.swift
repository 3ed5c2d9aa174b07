import Threading
import Waypost

/// The program around an agent: handlers of each kind, and what maps lead elsewhere.
struct WorldApp: Sendable {
    private struct Failed: Error {}

    /// What its services are made of.
    private struct Switch: Sendable {}

    /// Told before a handler that must not be repeated does anything.
    let ran: @Sendable (Int) -> Void
    /// Called by one that may be repeated; it need not return.
    var ends: @Sendable (Int) -> Void = { _ in }

    func register(on router: Router) throws {
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
            try router.register("shop://door/\(name)", idempotent: true) { _ in .opened("open") }
        }
        for name in ["AgentSwitch", "FleetSwitch"] {
            try router.services.expose(
                ExposedService(name, instance: Switch()) {
                    Exposed("read()", idempotent: true) { (_: Switch) in -1 }
                    Exposed("other()", idempotent: true) { (_: Switch) in -2 }
                })
        }
    }

    private func registerHandlers(on router: Router) throws {
        try router.register("shop://add/:number") { request in
            ran(request)
            return .opened()
        }
        try router.register("shop://slow/:number") { request in
            ran(request)
            var chance = Chance()
            try await MonotonicTime.sleep(for: .milliseconds(Int64.random(in: 0...2_000, using: &chance)))
            return .opened()
        }
        try router.register("shop://block/:number") { request in
            ran(request)
            CurrentThread.sleep(for: .milliseconds(150))
            return .opened()
        }
        try router.register("shop://many/:number", idempotent: true) { _ in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { await Task.yield() } }
            }
            return .opened()
        }
        try router.register("shop://end/:number", idempotent: true) { request in
            ends(Self.number(request))
            return .opened()
        }
        try router.register("shop://fail/:number") { request in
            ran(request)
            throw Failed()
        }
    }

    private func ran(_ request: RouteRequest) { ran(Self.number(request)) }

    private static func number(_ request: RouteRequest) -> Int {
        (try? request.parameters.value("number", as: Int.self)) ?? -1
    }
}
