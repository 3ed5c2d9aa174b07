import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// One crash at each place between two durable steps; what follows from the protocol's section on crashes is checked.
@Suite(.aFewAtATime) struct `A crash between two steps` {
    private static let append =
        #"{"id":"once","ttl":900000,"type":"call","service":"LedgerService","method":"append","args":["entry"]}"#
    private static let put =
        #"{"id":"put","ttl":900000,"type":"call","service":"LedgerService","method":"put","args":["k","v"]}"#

    private func ledger(_ agent: some ObservedAgent) throws -> [Substring] {
        let path = agent.directory + "/ledger.txt"
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    }

    /// Sends a command to an agent that dies at the point, starts another on its state, and gives the reply.
    ///
    /// - Parameters:
    ///   - first: A command `slow` before it, which runs when it is sent, and is canceled after the start.
    ///   - wasKilled: Whether the agent was killed before: then it stores commands before it runs them.
    private func reply(
        to payload: @autoclosure () -> String, after first: String? = nil, crashingAt point: String,
        wasKilled: Bool = false
    ) async throws -> (reply: Reply, ledger: [Substring], all: [String]) {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        var directory: String?
        if wasKilled {
            let killed = try AgentProcess("k1", broker: broker.url)
            try await killed.online()
            _ = try await backend.command(#"{"id":"before","type":"ping"}"#, to: "k1")
            try await killed.kill()
            directory = killed.directory
        }
        let dying = try AgentProcess(
            "k1", broker: broker.url, directory: directory, environment: ["WAYPOST_FAULT": point])
        try await dying.online()
        if let first {
            try await backend.publish(first, to: "waypost/v1/k1/cmd/me")
            _ = try await backend.message(on: "waypost/v1/k1/reply/me") { $0["status"] == "accepted" }
        }
        let payload = payload()
        try await backend.publish(payload, to: "waypost/v1/k1/cmd/me")
        let status = try await dying.ended()
        #expect(status == -SIGKILL, "the agent did not die at \(point)")
        let agent = try RunningAgent("k1", broker: broker.url, directory: dying.directory)
        let id = try #require(try JSONValue(parsing: payload)["id"]?.stringValue)
        if first != nil {
            try await backend.publish(
                #"{"id":"stop","type":"cancel","target":"slow"}"#, to: "waypost/v1/k1/cmd/me")
        }
        let reply = try await backend.reply(to: id, of: "k1")
        // Whatever else is under way has come to its end with the goodbye.
        try await agent.online()
        #expect(try await agent.terminate() == 0)
        _ = try await backend.message(on: "waypost/v1/k1/state") { $0["why"] == "shutdown" }
        let all = backend.seen.filter { $0.topic.hasSuffix("/reply/me") && $0.json?["id"]?.stringValue == id }
            .compactMap { $0.json?["status"]?.stringValue }.filter { $0 != "accepted" }
        await backend.disconnect()
        return (reply, try ledger(agent), all)
    }

    @Test(arguments: ["before-store", "after-store"], [true, false])
    func `a command that had not been started runs, once`(point: String, wasKilled: Bool) async throws {
        // One that may run at once is not on disk before it does, unless the agent was killed: this one has to wait.
        let first = #"{"id":"slow","type":"call","service":"ClockService","method":"sleep","args":[3600000]}"#
        let waits = point == "after-store" && !wasKilled
        let (reply, ledger, all) = try await reply(
            to: Self.append, after: waits ? first : nil, crashingAt: waits ? "after-store:2" : point,
            wasKilled: wasKilled)
        #expect(reply.status == .ok)
        #expect(ledger == ["entry"])
        #expect(Set(all) == ["ok"])
    }

    /// Its time is three seconds after it is sent, not after the test began: an agent may take longer to be online.
    private static var appendLater: String {
        let after = Int64(Date().timeIntervalSince1970 * 1_000) + 3_000
        return append.replacing("\"ttl\":900000", with: "\"ttl\":900000,\"after\":\(after)")
    }

    @Test func `one whose time has come runs, once`() async throws {
        let (reply, ledger, all) = try await reply(to: Self.appendLater, crashingAt: "after-due")
        #expect(reply.status == .ok && ledger == ["entry"] && Set(all) == ["ok"])
    }

    @Test func `one that was acknowledged ends in one status, whether it had been started or not`()
        async throws
    {
        // It may be started while the acknowledgement is being written: both threads have it.
        let (reply, ledger, all) = try await reply(to: Self.append, crashingAt: "after-acknowledge")
        switch reply.status {
        case .ok: #expect(ledger == ["entry"])
        default:
            #expect(reply.status == .interrupted)
            #expect(ledger.count <= 1)
        }
        #expect(Set(all).count == 1)
    }

    /// All lead to the ledger, and none says so: a service, a module's service, a route after one that passed, a
    /// redirect by an interceptor, a service URL.
    static let repeatedNever = [
        #""type":"call","service":"LedgerService","method":"append","args":["entry"]"#,
        #""type":"call","service":"PrinterService","method":"print","args":["entry"]"#,
        #""type":"open","url":"scheme://router/append/4711""#,
        #""type":"open","url":"scheme://router/old-append/4711""#,
        #""type":"open","url":"scheme://services?protocol=LedgerService&method=append&ivar1=entry""#,
        #""type":"open","url":"scheme://router/none","params":{"route_fallback_url":"scheme://router/append/x"}"#,
    ]

    @Test(arguments: repeatedNever, ["after-started", "after-handler"])
    func `one that was started and may not run twice is interrupted`(command: String, point: String)
        async throws
    {
        let (reply, ledger, all) = try await reply(
            to: #"{"id":"once","ttl":900000,\#(command)}"#, crashingAt: point)
        #expect(reply.status == .interrupted)
        #expect(reply.code == .interrupted)
        #expect(ledger.count == (point == "after-handler" ? 1 : 0))
        #expect(Set(all) == ["interrupted"])
    }

    @Test func `params do not turn a service URL into another call`() async throws {
        let (reply, ledger, all) = try await reply(
            to:
                #"{"id":"once","ttl":900000,"type":"open","url":"scheme://services?protocol=CalculatorService&method=add&ivar1=2&ivar2=40","params":{"protocol":"LedgerService","method":"append","ivar1":"40"}}"#,
            crashingAt: "after-handler")
        #expect(reply.result["value"] == 80)
        #expect(ledger.isEmpty)
        #expect(Set(all) == ["ok"])
    }

    @Test func `one that was started and is idempotent runs again to its end`() async throws {
        let (reply, ledger, all) = try await reply(to: Self.put, crashingAt: "after-handler")
        #expect(reply.status == .ok)
        #expect(reply.attempt == 2)
        #expect(ledger.allSatisfy { $0 == "k=v" }, "\(ledger)")
        #expect(Set(all) == ["ok"])
    }

    @Test func `one that ends the agent each time is interrupted after the third`() async throws {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let first = try AgentProcess(
            "k1", broker: broker.url, environment: ["WAYPOST_FAULT": "after-handler"])
        try await first.online()
        try await backend.publish(Self.put, to: "waypost/v1/k1/cmd/me")
        #expect(try await first.ended() == -SIGKILL)
        for _ in 0..<2 {
            let next = try AgentProcess(
                "k1", broker: broker.url, directory: first.directory,
                environment: ["WAYPOST_FAULT": "after-handler"])
            #expect(try await next.ended() == -SIGKILL)
        }
        // It would die here as well.
        let last = try AgentProcess(
            "k1", broker: broker.url, directory: first.directory,
            environment: ["WAYPOST_FAULT": "after-handler"])
        let reply = try await backend.reply(to: "put", of: "k1")
        #expect(reply.code == .interrupted)
        #expect(reply.attempt == 3)
        _ = try await backend.failure(ref: "put", of: "k1")
        try await last.online()
        #expect(try await last.terminate() == 0)
        await backend.disconnect()
    }

    @Test func `a module's map and service are there after a crash, before anything was opened`() async throws
    {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let first = try AgentProcess("k1", broker: broker.url)
        try await first.online()
        try await backend.publish(
            #"{"id":"m","type":"map","rev":1,"entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/printer"}]}"#,
            to: "waypost/v1/k1/map", retain: false)
        _ = try await backend.message(on: "waypost/v1/k1/map/applied") {
            $0["layers"]?[0]?["rev"] == 1 && $0["inactive"] == []
        }
        try await first.kill()
        let again = try RunningAgent("k1", broker: broker.url, directory: first.directory)
        try await again.online()
        let call = try await backend.command(
            #"{"id":"c1","type":"call","service":"PrinterService","method":"print","args":["line"]}"#,
            to: "k1")
        #expect(call.code == .ok)
        let open = try await backend.command(
            #"{"id":"c2","type":"open","url":"scheme://router/demo"}"#, to: "k1")
        #expect(open.result["route"] == "scheme://router/printer")
        #expect(try await again.terminate() == 0)
        await backend.disconnect()
    }

    @Test(arguments: ["after-result", "before-reply-acknowledged"])
    func `one that has its result keeps it, and the reply arrives`(point: String) async throws {
        let (reply, ledger, all) = try await reply(to: Self.append, crashingAt: point)
        #expect(reply.status == .ok)
        #expect(reply.result == 1)
        #expect(ledger == ["entry"])
        #expect(Set(all) == ["ok"])
    }
}
