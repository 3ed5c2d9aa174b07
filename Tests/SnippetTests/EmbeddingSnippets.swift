import Foundation
import Logging
import MQTTLink
import ServiceLifecycle
import Testing
import UnixSignals
import Waypost
import WaypostAgent

@Suite struct `Snippets on embedding an agent` {
    actor DoorService {
        var isOpen = false

        func open(seconds: Int) throws { isOpen = seconds > 0 }
    }

    // snippet
    func makeRouter() throws -> Router {
        let router = Router(configuration: RouterConfiguration(webPath: "kiosk://web"))
        try router.register("kiosk://orders/:id", name: "OrderScreen", idempotent: true) { request in
            let id = try request.parameters.value("id", as: Int.self)
            return .opened(["shown": JSONValue(id)])
        }
        try router.register("kiosk://web", name: "WebScreen", kind: .web) { _ in .opened() }
        try router.services.expose(
            ExposedService("DoorService", make: DoorService.init) {
                Exposed("isOpen()", idempotent: true) { (door: DoorService) in await door.isOpen }
                Exposed("open(seconds:)") { (door: DoorService, seconds: Int) in
                    try await door.open(seconds: seconds)
                }
            })
        return router
    }
    // end snippet

    // snippet
    func makeAgent(_ router: Router, logger: Logger) throws -> Agent {
        var link = MQTTLinkConfiguration(
            brokers: [try BrokerURL("mqtts://broker.example.com")], clientID: "kiosk-7")
        link.credentials = Credentials(username: "kiosk-7", password: "from a file, not from here")
        link.tls = TLSOptions(caFile: "/etc/kiosk/ca.crt")

        var configuration = AgentConfiguration(
            agent: "kiosk-7", groups: ["lobby"], stateDirectory: "/var/lib/kiosk/waypost", link: link)
        configuration.limits.handlerDeadline = .seconds(30)
        configuration.redactedKeys = ["cardNumber"]
        return try Agent(configuration, router: router, logger: logger)
    }
    // end snippet

    // snippet
    func runKiosk() async throws {
        let logger = Logger(label: "kiosk")
        let agent = try makeAgent(makeRouter(), logger: logger)
        let group = ServiceGroup(
            services: [agent], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
    }
    // end snippet

    // snippet
    enum Tenant {
        @TaskLocal static var name = "none"
    }

    func makeAgent(of tenant: String, _ configuration: AgentConfiguration, logger: Logger) throws -> Agent {
        try Agent(configuration, router: makeRouter(), logger: logger) { handler in
            await Tenant.$name.withValue(tenant) { await handler() }
        }
    }
    // end snippet

    // snippet
    func makeOrderLogger(_ agent: Agent) -> Logger {
        Logger(label: "Orders") { agent.logHandler(label: $0) }
    }
    // end snippet

    // snippet
    func openAnOrder() async throws -> Opening {
        let router = try makeRouter()
        return await router.open("kiosk://orders/42?from=backend")
    }
    // end snippet

    @Test func `the routes and services are those of the page`() async throws {
        let opening = try await openAnOrder()
        #expect(opening.value == ["shown": 42])
        let router = try makeRouter()
        #expect(router.resolve("kiosk://orders/42").idempotent)
        #expect(await router.open("https://example.com").route == "kiosk://web")
        let door = router.services
        #expect(try await door.call("DoorService", "open", arguments: .positional([5])) == .null)
        #expect(try await door.call("DoorService", "isOpen") == true)
    }

    @Test func `an agent without a state directory says so`() throws {
        // The page's directory is another's; making it here would need rights that a test does not have.
        let logger = Logger(label: "snippets") { _ in SwiftLogNoOpLogHandler() }
        let link = MQTTLinkConfiguration(brokers: [try BrokerURL("mqtt://127.0.0.1")], clientID: "k1")
        let configuration = AgentConfiguration(agent: "k1", stateDirectory: "/dev/null/waypost", link: link)
        #expect(throws: StoreError.self) { try Agent(configuration, router: makeRouter(), logger: logger) }
    }
}
