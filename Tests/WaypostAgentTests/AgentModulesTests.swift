import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

private struct Feature: RouteModule {
    let name: String
    var dependencies: [String] = []
    var setUpDeadline: Duration? = .seconds(30)
    var prepare: @Sendable () async throws -> Void = {}

    var routes: [Route] {
        [Route("\(name.lowercased())://open", name: "\(name)Screen") { _ in .opened("from \(name)") }]
    }

    var services: [ExposedService] {
        let name = name
        return [
            ExposedService("\(name)Service", instance: name) {
                Exposed("hello()", idempotent: true) { (name: String) in "hello from \(name)" }
            }
        ]
    }

    func setUp() async throws { try await prepare() }
}

private struct Broken: Error, CustomStringConvertible {
    var description: String { "no certificate" }
}

@Suite struct `Modules of an agent` {
    private static let call = #"{"id":"c1","type":"call","service":"ShopService","method":"hello"}"#

    private func router(_ modules: [any RouteModule]) throws -> Router {
        let router = Router()
        try router.register("app://home", name: "Home") { _ in .opened() }
        router.declare(modules)
        return router
    }

    @Test func `are set up before the first command, so that a call needs no open before it`() async throws {
        let harness = try await AgentHarness(router: router([Feature(name: "Shop")]))
        #expect(try await harness.command(Self.call).result == "hello from Shop")
        let routes = try await harness.document("routes")
        #expect(routes.arrayValue?.contains { $0["path"] == "shop://open" } == true)
        try await harness.close()
    }

    @Test func `may be the target of a map, which is in force after a restart too`() async throws {
        let map =
            #"{"id":"m","type":"map","rev":1,"entries":[{"routerType":1,"orginPath":"app://home","targetPath":"shop://open"}]}"#
        let harness = try await AgentHarness(router: router([Feature(name: "Shop")]))
        harness.receive(map, on: "waypost/v1/k1/map")
        _ = try await harness.applied { $0["layers"] != [] && $0["inactive"] == [] }
        try await harness.close()

        let again = try await AgentHarness(
            directory: harness.agent.configuration.stateDirectory, router: router([Feature(name: "Shop")]))
        #expect(again.agent.maps.applied.layers.map(\.revision) == [1])
        let opened = try await again.command(#"{"id":"c1","type":"open","url":"app://home"}"#)
        #expect(opened.result["value"] == "from Shop")
        try await again.close()
    }

    @Test func `one that fails takes only its own routes and services with it, and health names it`()
        async throws
    {
        let harness = try await AgentHarness(
            router: router([Feature(name: "Shop", prepare: { throw Broken() }), Feature(name: "Cart")]))
        let call = try await harness.command(Self.call)
        #expect(call.code == .module)
        #expect(call.detail?.contains("no certificate") == true)
        let open = try await harness.command(#"{"id":"c2","type":"open","url":"shop://open"}"#)
        #expect(open.code == .module)
        #expect(try await harness.command(#"{"id":"c3","type":"open","url":"cart://open"}"#).code == .ok)
        #expect(try await harness.command(#"{"id":"c4","type":"open","url":"app://home"}"#).code == .ok)
        #expect(harness.check("modules") == false)
        let report = try await harness.failure { $0.code == .module && $0.ref == nil }
        #expect(report.detail.contains("Shop"))
        try await harness.close()
    }

    @Test func `one that hangs keeps neither the agent nor a stop waiting`() async throws {
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        let hanging = Feature(name: "Shop", prepare: { for await _ in goAhead { break } })
        // The start of the link is what the harness waits for.
        let harness = try await AgentHarness(router: router([hanging])) {
            $0.limits.handlerDeadline = .seconds(1)
        }
        #expect(try await harness.command(#"{"id":"c1","type":"ping"}"#).code == .ok)
        #expect(harness.agent.router.modulesLoading == ["Shop"])
        try await harness.close()
        signal.finish()
    }

    @Test
    func
        `one that exceeds its deadline after the start is reported, and health names all that are not in use`()
        async throws
    {
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        let hang: @Sendable () async throws -> Void = { await Task { for await _ in goAhead {} }.value }
        let harness = try await AgentHarness(
            router: router([
                Feature(name: "Shop", setUpDeadline: .seconds(2), prepare: hang),
                Feature(name: "Cart", setUpDeadline: .seconds(3_600), prepare: hang),
            ])
        ) { $0.limits.handlerDeadline = .seconds(1) }
        #expect(try await harness.command(#"{"id":"c1","type":"open","url":"app://home"}"#).code == .ok)
        let report = try await harness.failure { $0.code == .module && $0.ref == nil }
        #expect(report.detail == "module Shop could not be set up: setUp did not end within 2.0 seconds")
        let check = harness.agent.health.checks.first { $0.name == "modules" }
        #expect(check?.detail == "Shop: setUp did not end within 2.0 seconds; being set up: Cart")
        #expect(check?.state == .failed)
        let open = try await harness.command(#"{"id":"c2","type":"open","url":"shop://open"}"#)
        #expect(open.code == .module)
        try await harness.close()
        signal.finish()
    }

    @Test func `one that is declared later has its routes published, and its entries of a map tried again`()
        async throws
    {
        let router = try router([])
        let harness = try await AgentHarness(router: router)
        harness.receive(
            #"[{"routerType":1,"orginPath":"app://home","targetPath":"shop://open"}]"#,
            on: "waypost/v1/k1/map")
        // A build that lacks the scheme takes the map, and says which entry does nothing.
        let before = try await harness.applied { $0["inactive"]?[0]?["index"] == 0 }
        #expect(before["refused"]?.isNull == true)
        let count = harness.published.events.count
        router.declare([Feature(name: "Shop")])
        harness.link.tick()
        _ = try await harness.applied(after: count) { $0["inactive"] == [] }
        _ = try await harness.document("routes", after: count) { routes in
            routes.arrayValue?.contains { $0["path"] == "shop://open" } == true
        }
        try await harness.close()
    }
}
