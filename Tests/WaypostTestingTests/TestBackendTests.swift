import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostTesting

/// A backend's tests can rely on it: what works there works here, and what goes wrong there goes wrong here.
@Suite(.timeLimit(.minutes(60)))
struct `A backend in memory` {
    private actor Volume {
        var percent = 50
        func set(percent: Int) throws -> Int {
            guard 0...100 ~= percent else { throw Failure(.badField, "percent is \(percent)") }
            self.percent = percent
            return percent
        }
    }

    private static func router() throws -> Router {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("kiosk://orders/:id") { .opened($0.parameters["id"]) }
        try router.register("kiosk://home") { _ in .opened() }
        let volume = Volume()
        try router.services.expose(
            ExposedService("Volume", make: { volume }) {
                Exposed("set(percent:)") { (volume: Volume, percent: Int) in
                    try await volume.set(percent: percent)
                }
            })
        return router
    }

    /// A machine ten times slower has the time that it needs.
    private static let patient = SendOptions(deadline: .seconds(300), lifetime: .seconds(600))

    @Test func `commands are done by the router, and the agent knows what came`() async throws {
        try await TestBackend.with(name: "shop") { test in
            let kiosk = try await test.agent("kiosk-7", router: try Self.router())
            let client = test.backend.agent("kiosk-7")
            let opened = try await client.open("kiosk://orders/17", parameters: ["tab": 2], Self.patient)
            #expect(opened.value == "17" && opened.route == "kiosk://orders/:id")
            #expect(try await client.call("Volume", "set", [20], as: Int.self, Self.patient) == 20)
            await #expect(throws: BackendError.self) {
                try await client.call("Volume", "set", [200], as: Int.self, Self.patient)
            }
            #expect(
                kiosk.received == [
                    .init(name: "kiosk://orders/:id", values: ["id": "17", "tab": 2], sender: "shop"),
                    .init(name: "Volume.set(percent:)", values: [20], sender: "shop"),
                    .init(name: "Volume.set(percent:)", values: [200], sender: "shop"),
                ])
            #expect(try await client.ping(Self.patient).isGreen)
        }
    }

    @Test func `what is told to fail ends with that failure until it recovers`() async throws {
        try await TestBackend.with { test in
            let kiosk = try await test.agent("k1", router: try Self.router())
            let client = test.backend.agent("k1")
            try kiosk.fail("kiosk://orders/:id", with: Failure(.handlerFailed, "out of paper"))
            try kiosk.fail("Volume.set", with: Failure(.busy, "it is being repaired"))
            let open = await #expect(throws: BackendError.self) {
                try await client.open("kiosk://orders/17", Self.patient)
            }
            #expect(open?.code == .handlerFailed && open?.description.contains("out of paper") == true)
            let call = await #expect(throws: BackendError.self) {
                try await client.call("Volume", "set(percent:)", [20], Self.patient)
            }
            #expect(call?.code == .busy)
            try await client.open("kiosk://home", Self.patient)
            try kiosk.recover("kiosk://orders/:id")
            try await client.open("kiosk://orders/17", Self.patient)
        }
    }

    @Test func `a name that nothing has is refused, with what is like it`() async throws {
        try await TestBackend.with { test in
            let kiosk = try await test.agent("k1", router: try Self.router())
            let route = #expect(throws: Failure.self) { try kiosk.silence("kiosk://ordrs/:id") }
            #expect(route?.code == .noRoute && route?.nearest.first == "kiosk://orders/:id")
            let method = #expect(throws: Failure.self) { try kiosk.delay("Volume.mute", by: .seconds(1)) }
            #expect(method?.code == .noMethod)
            let service = #expect(throws: Failure.self) { try kiosk.recover("Light.on") }
            #expect(service?.code == .noService)
        }
    }

    @Test func `what is silent is done once, and its reply comes when it is sent again`() async throws {
        try await TestBackend.with { test in
            let kiosk = try await test.agent("k1", router: try Self.router())
            let client = test.backend.agent("k1")
            try kiosk.silence("Volume.set(percent:)")
            let command = try client.seal(
                .call("Volume", "set(percent:)", [30]), SendOptions(lifetime: .seconds(600)))
            let missing = await #expect(throws: BackendError.self) {
                try await test.backend.send(command, deadline: .milliseconds(200)).reply()
            }
            #expect(missing?.kind == .noReply)
            try await eventually("the call to be done") { kiosk.received.count == 1 }
            try kiosk.recover("Volume.set(percent:)")
            let reply = try await test.backend.send(command, deadline: .seconds(300)).reply()
            #expect(reply.isOK && reply.result == 30)
            #expect(kiosk.received.count == 1)
        }
    }

    @Test func `what is delayed is accepted, and done afterwards`() async throws {
        try await TestBackend.with { test in
            let kiosk = try await test.agent("k1", router: try Self.router())
            try kiosk.delay("kiosk://home", by: .seconds(2))
            let pending = try test.backend.agent("k1").send(.open("kiosk://home"), Self.patient)
            #expect(try await pending.accepted())
            #expect(try await pending.reply().isOK)
        }
    }

    @Test func `a group says who answered and who is silent`() async throws {
        try await TestBackend.with { test in
            for name in ["k1", "k2"] {
                try await test.agent(name, groups: ["lobby"], router: try Self.router())
            }
            let silent = try await test.agent("k3", groups: ["lobby"], router: try Self.router())
            try silent.silence("kiosk://home")
            let answer = try await test.backend.group("lobby").send(
                .open("kiosk://home"), SendOptions(deadline: .seconds(5)))
            #expect(Set(answer.replies.map(\.agent)) == ["k1", "k2"])
            #expect(answer.silent.map(\.name) == ["k3"] && answer.silent.first?.isOnline == true)
        }
    }

    @Test func `an agent whose power was cut is lost, and knows after its start what it has done`()
        async throws
    {
        try await TestBackend.with { test in
            let kiosk = try await test.agent("k1", router: try Self.router())
            let client = test.backend.agent("k1")
            let command = try client.seal(
                .call("Volume", "set(percent:)", [30]), SendOptions(lifetime: .seconds(600)))
            #expect(try await test.backend.send(command, deadline: .seconds(300)).reply().isOK)
            await kiosk.cutPower()
            try await eventually("the will") {
                try await test.backend.agents().first { $0.name == "k1" }?.isOnline == false
            }
            try await kiosk.start()
            #expect(try await test.backend.send(command, deadline: .seconds(300)).reply().result == 30)
            #expect(kiosk.received.count == 1)
            await kiosk.stop()
            try await kiosk.start()
            try await client.open("kiosk://home", Self.patient)
        }
    }

    @Test func `after a restart of the broker all goes on, and it keeps what it kept`() async throws {
        try await TestBackend.with { test in
            try await test.agent("k1", router: try Self.router())
            let client = test.backend.agent("k1")
            try await client.open("kiosk://home", Self.patient)
            test.restartBroker()
            try await client.open("kiosk://home", Self.patient)
            #expect(try await test.backend.agents().map(\.name) == ["k1"])
        }
    }

    @Test func `a backend of its own reaches the same agents, and two tests do not meet`() async throws {
        try await TestBackend.with { one in
            try await one.agent("k1", router: try Self.router())
            try await TestBackend.with { other in
                #expect(try await other.backend.agents().isEmpty)
                try await other.agent("k1", router: try Self.router())
            }
            try await Backend.with(one.configuration) { backend in
                _ = try await backend.agent("k1").open("kiosk://home", Self.patient)
            }
        }
    }

    @Test func `a name that is none, or that is taken, is one sentence`() async throws {
        await #expect(throws: BackendError.self) { try await TestBackend.with(name: "a/b") { _ in } }
        try await TestBackend.with { test in
            try await test.agent("k1", router: try Self.router())
            let taken = await #expect(throws: BackendError.self) {
                try await test.agent("k1", router: try Self.router())
            }
            #expect(taken?.description == "there is an agent k1 already")
            await #expect(throws: (any Error).self) {
                try await test.agent("k 2", router: try Self.router())
            }
        }
    }

    @Test func `each agent is online when it has started, however fast it is`() async throws {
        try await TestBackend.with { test in
            for number in 1...20 { try await test.agent("k\(number)", router: Router()) }
            #expect(try await test.backend.agents().count == 20)
        }
    }
}
