import Foundation
import Logging
import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

@Suite(.timeLimit(.minutes(60))) struct `Checks of health` {
    private static let refusal = DisconnectReason.Cause.refused(.notAuthorized, detail: "wrong password")

    private func check(_ name: String, of harness: AgentHarness) throws -> HealthCheck {
        try #require(harness.agent.health.checks.first { $0.name == name })
    }

    private func status(of harness: AgentHarness) -> JSONValue? { harness.agent.health.json["status"] }

    // It said "all granted" and "accepted" of what it had never tried, and was green for ever.
    @Test func `what was never tried is not known, and the agent is not green`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        for name in ["link", "subscriptions", "publishes", "echo", "commands", "routes"] {
            #expect(try check(name, of: harness).state == .unknown, "\(name)")
        }
        #expect(status(of: harness) == "unknown")
        #expect(harness.agent.localHealth["online"] == false)
        try await harness.close()
    }

    @Test func `an agent that can't sign in says why, since when, and when it tries again`() async throws {
        let lines = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(
            isOnline: false, logger: Logger(label: "test") { _ in LineRecorder(lines) })
        let began = harness.clock.now
        harness.link.disconnect(Self.refusal, stage: .handshaking, retryIn: .seconds(20))
        let link = try check("link", of: harness)
        #expect(link.state == .failed && link.since == began)
        #expect(link.detail.hasPrefix("530 CONNECT_REFUSED: logging in to mqtt://127.0.0.1:1883"), "\(link)")
        #expect(link.detail.contains(#"saying "wrong password""#))
        #expect(link.detail.hasSuffix("; next try in 20 s (1 try)"))
        #expect(link.advice?.contains("password") == true)
        #expect(status(of: harness) == "red")
        // Further tries bring another time, and a line after a minute, then ever more seldom.
        for _ in 0..<20 {
            harness.clock.advance(20_000)
            harness.link.disconnect(Self.refusal, stage: .handshaking, retryIn: .seconds(40), isKnown: true)
        }
        #expect(try check("link", of: harness).detail.hasSuffix("; next try in 40 s (21 tries)"))
        #expect(try check("link", of: harness).since == began)
        let said = lines.events.filter { $0.contains("refused with") }
        #expect(said.count == 3, "\(said)")
        #expect(said.last?.contains("still, after 10 tries in 3 min: ") == true, "\(said)")
        harness.link.connect()
        #expect(try check("link", of: harness).state == .ok)
        try await harness.close()
    }

    @Test func `a command that arrives shows that commands arrive, where the agent can't try it itself`()
        async throws
    {
        let harness = try await AgentHarness(isOnline: false)
        harness.link.connect(version: .v311)
        #expect(try check("commands", of: harness).state == .unknown)
        // One to a group does not.
        harness.receive(#"{"id":"c1","type":"ping"}"#, on: "waypost/v1/@all/cmd/me")
        #expect(try check("commands", of: harness).state == .unknown)
        _ = try await harness.command(#"{"id":"c2","type":"ping"}"#)
        #expect(try check("commands", of: harness).state == .ok)
        harness.link.disconnect()
        #expect(try check("commands", of: harness).state == .unknown)
        try await harness.close()
    }

    @Test func `a check has the time since when it is so, and advice when it is not ok`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        let began = harness.clock.now
        #expect(try check("clock", of: harness).since == began)
        #expect(try check("clock", of: harness).advice == nil)
        harness.clock.advance(5_000)
        #expect(try check("clock", of: harness).since == began)
        harness.clock.step(-400 * 86_400_000)
        let wrong = try check("clock", of: harness)
        #expect(wrong.state == .failed && wrong.since == harness.clock.now)
        #expect(wrong.advice == HealthCheckGuide.find("CLOCK")?.advice)
        try await harness.close()
    }

    @Test func `each has a row in the guide`() async throws {
        let harness = try await AgentHarness()
        for check in harness.agent.health.checks {
            #expect(HealthCheckGuide.find(check.name) != nil, "\(check.name)")
        }
        try await harness.close()
    }

    @Test func `what is wrong stands in the agent's own log, and that it is over`() async throws {
        let lines = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(
            isOnline: false, logger: Logger(label: "test") { _ in LineRecorder(lines) })
        harness.link.connect(refused: ["waypost/v1/k1/map"])
        let connection = try #require(harness.agent.status.current.connection)
        _ = try await lines.first("the refused subscription") { line in
            line.contains("health: subscriptions failed: refused: waypost/v1/k1/map; allow the agent")
                ? line : nil
        }
        harness.link.subscribe(granted: ["waypost/v1/k1/map"], of: connection)
        _ = try await lines.first("that it is granted") { line in
            line.contains("health: subscriptions is ok again") ? line : nil
        }
        harness.receive(#"[{"routerType":9}]"#, on: "waypost/v1/k1/map/patch")
        _ = try await lines.first("the refused map") { line in
            line.contains("422 BAD_FIELD: map of patch refused") ? line : nil
        }
        try await harness.close()
    }

    @Test func `a check of an older agent is read, and what it does not know is not ok`() throws {
        func read(_ text: String) throws -> HealthCheck? { HealthCheck(try JSONValue(parsing: text)) }
        #expect(try read(#"{"name":"echo","ok":true,"detail":"pending"}"#)?.state == .unknown)
        #expect(try read(#"{"name":"commands","ok":true,"detail":"not known: x"}"#)?.state == .unknown)
        #expect(try read(#"{"name":"echo","ok":true,"detail":"ok"}"#)?.state == .ok)
        let failed = try read(#"{"name":"store","ok":false,"detail":"full"}"#)
        #expect(failed?.state == .failed)
        #expect(failed?.advice == HealthCheckGuide.find("store")?.advice)
        // Of a newer agent.
        #expect(try read(#"{"name":"moon","state":"waning","ok":true,"detail":""}"#)?.state == .unknown)
        #expect(try read(#"{"detail":""}"#) == nil)
    }
}

@Suite(.timeLimit(.minutes(60))) struct `The reason that a state carries` {
    private func state(of message: MQTTMessage?) throws -> AgentState {
        try AgentState(JSONValue(parsing: try #require(message).payload))
    }

    private func last(_ harness: AgentHarness, after count: Int = 0) async throws -> AgentState.Cause? {
        let json = try await harness.document("state", after: count)
        return try AgentState(json).last
    }

    @Test func `a birth has why there was no connection, and of several reasons the one with a code`()
        async throws
    {
        let harness = try await AgentHarness(isOnline: false)
        harness.link.connect()
        #expect(try await last(harness) == nil)
        harness.link.disconnect(.closedByBroker)
        harness.link.disconnect(.refused(.notAuthorized, detail: nil), stage: .handshaking)
        harness.link.disconnect(.timedOut, stage: .connecting)
        let count = harness.published.events.count
        harness.link.connect(sessionPresent: true)
        let last = try await last(harness, after: count)
        #expect(last?.code == .connectRefused)
        #expect(last?.detail.hasPrefix("logging in to") == true)
        try await harness.close()
    }

    // Others saw a lost connection, and were asked whether the network was there.
    @Test func `a will has a full disk, and failures have it once it is over`() async throws {
        let harness = try await AgentHarness(isOnline: false) { $0.healthInterval = .seconds(1) }
        let delegate = try #require(harness.link.delegate.withLock { $0 })
        #expect(try state(of: delegate.linkWillConnect(.v5)).last == nil)
        let path = harness.agent.store.path
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        #expect(harness.receive(#"{"id":"c1","type":"ping"}"#, on: "waypost/v1/k1/cmd/me") == .refuse)
        #expect(try state(of: delegate.linkWillConnect(.v5)).last?.code == .disk)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        harness.link.connect()
        try await harness.until("the failure in the store") { harness in
            let page = try? harness.agent.store.commit {
                try $0.failures(FailureRequest(), bytes: 1 << 20)
            }
            return page?.reports.contains { $0["name"] == "DISK" } == true
        }
        #expect(try state(of: delegate.linkWillConnect(.v5)).last == nil)
        try await harness.close()
    }

    @Test func `a goodbye has what stopped the agent, and the next birth has it too`() async throws {
        let harness = try await AgentHarness()
        harness.agent.stop(because: "SIGTERM")
        try await harness.close()
        let goodbye = try state(of: harness.published.events.last { $0.topic == "waypost/v1/k1/state" })
        #expect(goodbye.reason == .shutdown)
        #expect(goodbye.last?.detail == "stopped by SIGTERM")
        let directory = harness.agent.configuration.stateDirectory
        #expect(try StateInspection(directory: directory).run?.reason == "stopped by SIGTERM")
        let next = try await AgentHarness(directory: directory)
        #expect(try await last(next)?.detail == "stopped by SIGTERM")
        #expect(try next.agent.store.commit { try $0.run() }?.ended == nil)
        try await next.close()
    }
}
