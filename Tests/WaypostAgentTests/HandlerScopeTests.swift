import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

extension Code {
    fileprivate static let noPaper = Code(application: 1_001, "NO_PAPER")
}

/// What a program sets around handlers reaches them, and what they throw reaches the sender.
@Suite struct `Around handlers` {
    enum Tenant {
        @TaskLocal static var name = "none"
    }

    private func router() throws -> Router {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("app://in-place") { _ in .opened(.string(Tenant.name)) }
        try router.register("app://waits") { _ in
            await Task.yield()
            return .opened(.string(Tenant.name))
        }
        try router.intercept("tenant", scope: .patterns(["app://waits"])) { _ in
            Tenant.name == "none" ? .stop(reason: "whose?") : .proceed
        }
        try router.services.expose(
            ExposedService("S", instance: 1) { Exposed("tenant()") { (_: Int) in Tenant.name } })
        try router.register("app://print") { _ in
            throw Failure(.noPaper, "tray 2 is empty", payload: ["tray": 2, "token": "SECRET"])
        }
        try router.register("app://long") { _ in
            throw Failure(
                .noRoute, "", nearest: (0..<10_000).map { "\($0)" + String(repeating: "x", count: 5_000) })
        }
        try router.register("app://heavy") { _ in
            throw Failure(.noPaper, "tray", payload: .string(String(repeating: "x", count: 4_000_000)))
        }
        return router
    }

    @Test func `what is thrown is bounded as the protocol has it`() async throws {
        let harness = try await AgentHarness(router: router())
        let long = try await harness.command(#"{"id":"l","type":"open","url":"app://long"}"#)
        #expect(long.code == .noRoute)
        #expect(long.nearest.count == 3 && long.nearest.allSatisfy { $0.utf8.count <= 512 })
        #expect(long.detail == "no detail given")
        let heavy = try await harness.command(#"{"id":"h","type":"open","url":"app://heavy"}"#)
        #expect(heavy.code == .tooLarge)
        #expect(heavy.payload == nil)
        try await harness.close()
    }

    @Test func `task locals reach handlers, interceptors and methods`() async throws {
        let harness = try await AgentHarness(
            router: router(), around: { handler in await Tenant.$name.withValue("north") { await handler() } }
        )
        for url in ["app://in-place", "app://waits"] {
            let reply = try await harness.command(
                #"{"id":"\#(url.suffix(5))","type":"open","url":"\#(url)"}"#)
            #expect(reply.code == .ok)
            #expect(reply.result["value"] == "north")
        }
        let call = try await harness.command(
            #"{"id":"c","type":"call","service":"S","method":"tenant","args":[]}"#)
        #expect(call.result == "north")
        try await harness.close()
    }

    @Test func `a scope that does not run its operation is a failure, and no success`() async throws {
        let harness = try await AgentHarness(router: router(), around: { _ in })
        let reply = try await harness.command(#"{"id":"c","type":"open","url":"app://in-place"}"#)
        #expect(reply.code == .handlerFailed)
        #expect(reply.detail?.contains("did not await its operation") == true)
        try await harness.close()
    }

    @Test func `the code and the payload of an application travel to the sender, secrets masked`()
        async throws
    {
        let harness = try await AgentHarness(router: router())
        let reply = try await harness.command(#"{"id":"c","type":"open","url":"app://print"}"#)
        #expect(reply.code == .unknown(number: 1_001, name: "NO_PAPER"))
        #expect(reply.status == .failed)
        #expect(reply.detail == "tray 2 is empty")
        #expect(reply.payload == ["tray": 2, "token": "***"])
        try await harness.close()
    }
}
