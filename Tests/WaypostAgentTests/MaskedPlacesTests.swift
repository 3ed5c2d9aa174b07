import Logging
import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// Each place at which something leaves the process, with a secret on its way there: what stands around it is there,
/// and it is not.
@Suite final class `What leaves the process`: Sendable {
    private static let secret = "hunter2"

    private struct Unlucky: RouteModule {
        let name = "Unlucky"
        func setUp() async throws {
            throw Failure(.handlerFailed, "connect to mqtt://me:\(secret)@broker: refused")
        }
    }

    /// What the host's log would show.
    private struct RecordingHandler: LogHandler {
        let lines: TestSupport.EventLog<String>
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: Logging.LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            lines.append("\(event.message) \(all.sorted { $0.key < $1.key })")
        }
    }

    private let lines = TestSupport.EventLog<String>()
    private let gate = OpenGate("login")
    private let stack = NavigationStack()

    private func router() throws -> Router {
        let router = Router(configuration: RouterConfiguration(webPath: "app://web?token=hunter2"))
        try router.register("app://page") { _ in .opened() }
        try router.register("app://web?token=hunter2") { _ in .opened() }
        try router.register("app://moved", redirect: { _ in "app://page?token=hunter2" }) { _ in .opened() }
        try router.register("app://sent") { _ in .opened() }
        try router.intercept("sender", scope: .patterns(["app://sent"])) { _ in
            .redirect(to: "app://page?password=hunter2")
        }
        try router.register("held://:who") { _ in .opened() }
        try router.intercept("guard", scope: .patterns(["held://:who"])) { [gate] _ in
            .wait(for: gate, atMost: .seconds(600))
        }
        try router.register(.page("screen://:who", name: "Screen", in: stack))
        try router.register("app://throws") { request in
            throw Failure(.handlerFailed, "sign in at \(request.url.text) failed")
        }
        router.declare([Unlucky()])
        return router
    }

    private func harness() async throws -> AgentHarness {
        let lines = lines
        return try await AgentHarness(
            router: router(), logger: Logger(label: "test") { _ in RecordingHandler(lines: lines) }
        ) {
            $0.limits.intakeRate = 0
            $0.limits.mapRate = 0
            $0.logLevel = "v"
        }
    }

    private func open(_ url: String, _ id: String, in harness: AgentHarness) async throws -> Reply {
        let command: JSONValue = ["id": .string(id), "type": "open", "url": .string(url)]
        return try await harness.command(command.text)
    }

    /// What no place may have.
    private func expectNoSecret(_ harness: AgentHarness) {
        for message in harness.published.events {
            let text = message.topic + " " + String(decoding: message.payload, as: UTF8.self)
            #expect(!text.contains(Self.secret), "\(text)")
        }
        for line in lines.events { #expect(!line.contains(Self.secret), "\(line)") }
    }

    // MARK: Replies

    private static let opened: [(url: String, route: String, opened: String, hops: JSONValue)] = [
        ("app://page?token=hunter2&x=1", "app://page", "app://page?token=***&x=1", []),
        ("app://page#access_token=hunter2", "app://page", "app://page#access_token=***", []),
        ("app://old?x=1", "app://page", "app://page?token=***&x=1", ["app://page?token=***&x=1"]),
        ("app://moved", "app://page", "app://page?token=***", ["app://page?token=***"]),
        ("app://sent", "app://page", "app://page?password=***", ["app://page?password=***"]),
        ("app://web", "app://web?token=***", "app://web", []),
        ("https://x?token=hunter2", "app://web?token=***", "https://x?token=***", []),
        ("screen://me:hunter2@x", "screen://:who", "screen://***@x", []),
    ]

    @Test func `a reply has the route, the URL and the hops of an open without it`() async throws {
        let harness = try await harness()
        try apply(Self.map, in: harness)
        for (number, open) in Self.opened.enumerated() {
            let reply = try await self.open(open.url, "u\(number)", in: harness)
            #expect(reply.code == .ok, "\(open.url): \(reply)")
            #expect(reply.result["route"]?.stringValue == open.route, "\(open.url)")
            #expect(reply.result["url"]?.stringValue == open.opened, "\(open.url)")
            #expect(reply.result["hops"] == open.hops, "\(open.url)")
        }
        try await harness.close()
        expectNoSecret(harness)
    }

    private static let failed: [(url: String, detail: String, reported: String)] = [
        (
            "app://me:hunter2@none", "no route matches app://***@none; similar are app://moved",
            "app://***@none"
        ),
        ("app://we?token=hunter2", "app://we?token=***", "app://we?token=***"),
        (
            "app://throws?token=hunter2", "sign in at app://throws?token=*** failed",
            "app://throws?token=***"
        ),
    ]

    @Test func `a failure's reply, report and event have what stands around it`() async throws {
        let harness = try await harness()
        for (number, open) in Self.failed.enumerated() {
            let id = "f\(number)"
            let reply = try await self.open(open.url, id, in: harness)
            #expect(reply.detail?.contains(open.detail) == true, "\(reply)")
            let report = try await harness.failure { $0.ref == id }
            #expect(report.url == open.reported && report.detail == reply.detail, "\(report)")
            let event = try await harness.event { $0.ref == id && $0.isError }
            #expect(event.url == open.reported && event.message.contains(open.detail), "\(event)")
        }
        // What is near is a pattern, which may have one too.
        let near = try await open("app://wep", "n", in: harness)
        #expect(near.nearest.contains("app://web?token=***"))
        try await harness.close()
        expectNoSecret(harness)
    }

    // MARK: Documents

    private static let map =
        #"{"type":"map","rev":1,"entries":[{"routerType":1,"orginPath":"app://old","targetPath":"app://page?token=hunter2"},{"routerType":1,"orginPath":"app://gone","targetPath":"gone://me:hunter2@x?password=hunter2"},{"routerType":1,"orginPath":"app://when","targetPath":"app://page","when":{"labels":{"token":"hunter2"}}}]}"#

    private static let refused: [(document: String, detail: String)] = [
        (
            #""rev":2,"entries":[{"routerType":1,"orginPath":"app://a","targetPath":"https://hunter2@b@c?token=hunter2"}]"#,
            "parse https://***@c?token=***"
        ),
        (
            #""rev":3,"entries":[{"routerType":1,"orginPath":"app://me:hunter2@a","targetPath":"app://me:hunter2@a"}]"#,
            "redirects form a cycle: app://***@a → app://***@a"
        ),
        (#""rev":4,"aud":"token=hunter2","entries":[]"#, #"aud is "token=***"#),
    ]

    private func apply(_ map: String, in harness: AgentHarness) throws {
        #expect(harness.receive(map, on: "waypost/v1/k1/map") == .acknowledge)
        #expect(harness.agent.maps.applied.layers.map(\.revision) == [1])
    }

    @Test func `the map in force has its reasons without it`() async throws {
        let harness = try await harness()
        try apply(Self.map, in: harness)
        let applied = try await harness.applied { $0["entries"] == 3 }
        let reasons = ["inactive", "conditional"].map { applied[$0]?[0]?["reason"]?.stringValue ?? "" }
        #expect(reasons[0] == "no registered route has the scheme gone")
        #expect(reasons[1].hasPrefix("label token (hidden)"))
        var quoted = AppliedMap()
        quoted.inactive = [.init(layer: "@all", index: 0, reason: "app://me:hunter2@a is not there")]
        #expect(
            harness.agent.events.redaction.masked(quoted).inactive.map(\.reason) == [
                "app://***@a is not there"
            ])
        for (document, detail) in Self.refused {
            harness.receive("{\"type\":\"map\",\(document)}", on: "waypost/v1/k1/map")
            let applied = try await harness.applied {
                $0["refused"]?["detail"]?.stringValue?.contains(detail) == true
            }
            let ping = try await harness.command("{\"id\":\"p\(detail.utf8.count)\",\"type\":\"ping\"}")
            #expect(ping.result["map"]?["refused"]?["detail"] == applied["refused"]?["detail"])
            _ = try await harness.failure { $0.origin == .map && $0.detail.contains(detail) }
        }
        harness.agent.publishHealth()
        try await harness.close()
        expectNoSecret(harness)
    }

    @Test func `health has modules, gates and routes without it`() async throws {
        let harness = try await harness()
        _ = try await open("app://web", "u1", in: harness)
        harness.receive(
            #"{"id":"h","type":"open","url":"held://me:hunter2@x?token=hunter2"}"#,
            on: "waypost/v1/k1/cmd/me")
        try await harness.until("the open that waits") { !$0.agent.router.waitingOpens.isEmpty }
        harness.agent.publishHealth()
        let health = try await harness.document("health") { $0["waiting"]?["gates"] != [] }
        let modules = health["checks"]?.arrayValue?.first { $0["name"] == "modules" }
        #expect(modules?["detail"]?.stringValue?.contains("mqtt://***@broker: refused") == true)
        #expect(health["waiting"]?["gates"]?[0]?["url"] == "held://***@x?token=***")
        #expect(health["opens"]?.arrayValue?.map { $0["route"] } == ["app://web?token=***"])
        try await harness.close()
        expectNoSecret(harness)
    }

    @Test func `routes, contract and what is shown are without it`() async throws {
        let harness = try await harness()
        _ = try await open("screen://me:hunter2@home", "s1", in: harness)
        // Who opens the next screen is told what lies below it.
        let second = try await open("screen://two", "s2", in: harness)
        #expect(second.result["value"]?["tabs"]?[0]?[0]?["url"] == "screen://***@home")
        let moved = try await harness.command(#"{"id":"n","type":"navigate","action":"back"}"#)
        #expect(moved.result["navigation"]?["tabs"]?[0]?[0]?["url"] == "screen://***@home")
        let shown = try await harness.document("navigation") { $0["top"] == "Screen" }
        #expect(shown["tabs"]?[0]?[0]?["url"] == "screen://***@home")
        let routes = try await harness.document("routes")
        #expect(routes.arrayValue?.contains { $0["path"] == "app://web?token=***" } == true)
        let contract = try await harness.document("contract")
        #expect(contract["router"]?["webPath"] == "app://web?token=***")
        try await harness.close()
        expectNoSecret(harness)
    }

    // Which keys are secret besides the usual ones only the agent knows, and not the navigator.
    @Test func `what is shown is without the secrets of the agent's own keys`() async throws {
        let harness = try await AgentHarness(router: router()) { $0.redactedKeys = ["pin"] }
        _ = try await open("screen://pin=1234", "s1", in: harness)
        _ = try await open("screen://two", "s2", in: harness)
        let moved = try await harness.command(#"{"id":"n","type":"navigate","action":"back"}"#)
        #expect(moved.result["navigation"]?["tabs"]?[0]?[0]?["url"] == "screen://pin=***")
        let shown = try await harness.document("navigation") { $0["top"] == "Screen" }
        #expect(shown["tabs"]?[0]?[0]?["url"] == "screen://pin=***")
        try await harness.close()
    }

    // MARK: What is asked for later

    @Test func `failures, inspect and replay tell it no more than the first time`() async throws {
        let harness = try await harness()
        _ = try await open("app://throws?token=hunter2", "u1", in: harness)
        _ = try await open("app://me:hunter2@page", "u2", in: harness)
        let failures = try await harness.command(#"{"id":"q1","type":"failures"}"#)
        let details = failures.result["failures"]?.arrayValue?.map { $0["detail"]?.stringValue ?? "" } ?? []
        #expect(details.contains("sign in at app://throws?token=*** failed"))
        let inspected = try await harness.command(#"{"id":"q2","type":"inspect","target":"u1"}"#)
        #expect(
            inspected.result["commands"]?[0]?["detail"] == "sign in at app://throws?token=*** failed")
        harness.agent.events.flush()
        let before = harness.published.events.count
        let replayed = try await harness.command(#"{"id":"q3","type":"replay","since":0}"#)
        #expect(replayed.result["replayed"]?.intValue ?? 0 > 3)
        _ = try await harness.event(after: before) { $0.message.hasPrefix("will open app://***@page") }
        try await harness.close()
        expectNoSecret(harness)
    }

    @Test func `the host's log has the agent's lines and their metadata without it`() async throws {
        let harness = try await harness()
        harness.agent.logger.error(
            "connecting to mqtts://me:hunter2@broker",
            metadata: ["token": "hunter2", "at": ["a://hunter2@x", ["cookie": "hunter2"]]])
        var logger = harness.agent.logger
        logger[metadataKey: "secret"] = "hunter2"
        logger[metadataKey: "url"] = "b://hunter2@x"
        logger.notice("on")
        try await harness.close()
        #expect(
            lines.events.contains { line in
                ["connecting to mqtts://***@broker", "token", "a://***@x", "cookie"].allSatisfy(line.contains)
            })
        #expect(lines.events.contains { $0.hasPrefix("on ") && $0.contains("b://***@x") })
        expectNoSecret(harness)
    }
}
