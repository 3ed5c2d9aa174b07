import CommandSupport
import TestSupport
import Testing
import Waypost

/// An agent of a later version says things that this `waypost` does not know; they are shown as they are.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct NewerAgentTests {
    /// Answers the command of a started `waypost` as the agent k9, with the command's id in place of `ID`.
    private func answer(_ backend: Backend, with reply: String) async throws {
        try await backend.wait(for: "the command") {
            $0.contains { $0.topic.hasPrefix("waypost/v1/k9/cmd/") }
        }
        let command = try #require(backend.seen.first { $0.topic.hasPrefix("waypost/v1/k9/cmd/") })
        let sender = try #require(command.topic.split(separator: "/").last)
        let id = try #require(command.json?["id"]?.stringValue)
        try await backend.publish(
            reply.replacing("ID", with: id), to: "waypost/v1/k9/reply/\(sender)")
    }

    @Test func `a reply with an unknown code and status is shown as it is, and ends with 1`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let open = try RunningCommand(
            ["open", "scheme://router/demo", "--agent", "k9", "--wait", "10m"],
            environment: ["WAYPOST_BROKER": broker.url])
        try await answer(
            backend,
            with: #"""
                {"id":"ID","type":"reply","status":"postponed","code":599,"name":"NEW_THING","result":null,\#
                "ms":3,"attempt":1,"dup":false,"at":1795216999123,"detail":"come back\u001b[2J later"}
                """#)
        let ending = try await open.ending()
        #expect(ending.status == 1)
        #expect(
            ending.output == [#"postponed: 599 NEW_THING from k9: come back\u{1B}[2J later"#],
            "\(ending)")
        await backend.disconnect()
    }

    @Test func `a reply with numbers that can't be kept is shown all the same`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let call = try RunningCommand(
            ["call", "S", "m", "--agent", "k9", "--wait", "10m", "--json"],
            environment: ["WAYPOST_BROKER": broker.url])
        try await answer(
            backend,
            with: #"""
                {"id":"ID","type":"reply","status":"ok","code":0,"name":"OK",\#
                "result":[18446744073709551615,1e400],"ms":3,"attempt":1,"dup":false,"at":1795216999123}
                """#)
        let ending = try await call.ending()
        #expect(ending.status == 0, "\(ending)")
        #expect(ending.output.first?.contains(#""status":"ok""#) == true, "\(ending)")
        await backend.disconnect()
    }

    @Test func `failures, events and states with unknown words are shown by logcat`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let logcat = try RunningCommand(
            ["logcat", "-v", "brief"], environment: ["WAYPOST_BROKER": broker.url])
        let failures = try RunningCommand(
            ["logcat", "--failures", "-v", "brief"], environment: ["WAYPOST_BROKER": broker.url])
        try await broker.waitForLog(containing: "Sending SUBACK to waypost-", times: 5)
        let state =
            #"{"state":"draining","epoch":7,"boot":"B","why":"maintenance","agent":"k9","version":"9.0.0","mqtt":5}"#
        try await backend.publish(state, to: "waypost/v1/k9/state", retain: true)
        try await logcat.printedError("k9 is draining: maintenance")
        try await backend.publish(
            #"{"id":"f1","type":"fail","code":599,"name":"NEW_THING","where":"cellar","detail":"wet","last":5}"#,
            to: "waypost/v1/k9/fail")
        try await failures.printed("E/Fail    (    -): 599 NEW_THING in cellar: wet")
        try await logcat.printed("E/Fail    (    -): 599 NEW_THING in cellar: wet")
        try await backend.publish(
            #"{"t":1795216999123,"l":"N","tag":"Router","boot":"B","seq":1,"pid":71,"tid":72,"msg":"notable"}"#,
            to: "waypost/v1/k9/log/n")
        try await logcat.printed("N/Router  (   71): notable")
        let table = try await RunningCommand.run(["agents"], environment: ["WAYPOST_BROKER": broker.url])
        #expect(table.output.contains { $0.hasPrefix("k9 ") && $0.contains(" draining ") }, "\(table)")
        for command in [logcat, failures] { command.send(signal: 15) }
        #expect(try await logcat.ending().status == 0)
        #expect(try await failures.ending().output.count == 1)
        await backend.disconnect()
    }

    @Test(arguments: [Int64.min, -1, .max])
    func `numbers from outside never end a command`(number: Int64) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let health =
            #"{"status":"green","version":"1","at":\#(number),"uptime":\#(number),"epoch":\#(number)}"#
        try await backend.publish(health, to: "waypost/v1/k9/health", retain: true)
        let environment = ["WAYPOST_BROKER": broker.url]
        let logcat = try RunningCommand(["logcat", "-v", "brief"], environment: environment)
        try await broker.waitForLog(containing: "Sending SUBACK to waypost-", times: 3)
        let agents = try await RunningCommand.run(["agents"], environment: environment)
        #expect(agents.status == 0, "\(agents)")
        #expect(agents.output.contains { $0.hasPrefix("k9 ") })
        for sequence in [number, number, 5] {
            try await backend.publish(
                #"{"t":5,"l":"I","tag":"T","boot":"B","seq":\#(sequence),"pid":\#(number),"msg":"seq \#(sequence)"}"#,
                to: "waypost/v1/k9/log/i")
        }
        try await logcat.printed("I/T")
        try await broker.restart()
        try await logcat.printedError("reconnected")
        // The broker was restarted, so nothing is retained any more.
        let again = try await Backend(broker: broker.url, name: "again")
        try await again.publish(
            #"{"t":5,"l":"I","tag":"T","boot":"B","seq":\#(number),"msg":"last"}"#, to: "waypost/v1/k9/log/i")
        try await again.publish(
            #"{"t":5,"l":"I","tag":"T","boot":"C","seq":1,"msg":"other boot"}"#, to: "waypost/v1/k9/log/i")
        try await logcat.printed("other boot")
        logcat.send(signal: 15)
        #expect(try await logcat.ending().status == 0)
        let open = try RunningCommand(
            ["replay", "--agent", "k9", "--since", "1h", "--wait", "10m"], environment: environment)
        try await answer(
            again,
            with:
                #"{"id":"ID","status":"ok","code":0,"name":"OK","result":{"replayed":\#(number)},"at":\#(number)}"#
        )
        #expect(try await open.ending().status == 0)
        for backend in [backend, again] { await backend.disconnect() }
    }
}
