import Testing
import Waypost

@testable import WaypostMessages

@Suite struct `Reports` {
    @Test func `a reply is read as it was written`() throws {
        var reply = Reply(
            id: "c1", code: .noRoute, milliseconds: 3, at: 1_795_216_999_123, detail: "no \"route\"",
            nearest: ["scheme://router/demo"])
        let json = try JSONValue(parsing: reply.encoded())
        #expect(try Reply(json) == reply)
        reply.isDuplicate = true
        #expect(
            Reply.duplicate(
                of: Reply(
                    id: "c1", code: .noRoute, milliseconds: 3, at: 1_795_216_999_123, detail: "no \"route\"",
                    nearest: ["scheme://router/demo"]
                ).encoded()) == reply.encoded())
    }

    @Test func `a result that looks like the mark of a repetition is left alone`() throws {
        let reply = Reply(id: "c1", code: .ok, result: .string(#""dup":false"#), at: 5)
        let again = try Reply(JSONValue(parsing: Reply.duplicate(of: reply.encoded())))
        #expect(again.isDuplicate)
        #expect(again.result == reply.result)
    }

    @Test func `an event is read as it was written`() throws {
        let event = LogEvent(
            time: 1_795_216_999_123, level: .info, tag: "Router", boot: "B", sequence: 991, process: 71,
            thread: 72,
            message: "opened scheme://router/demo1\n", url: "scheme://router/demo1", ref: "c-17", dropped: 2)
        #expect(try LogEvent(JSONValue(parsing: event.encoded())) == event)
    }

    @Test func `the text form is Android's threadtime`() {
        let event = LogEvent(
            time: 1_795_216_999_123, level: .info, tag: "Router", boot: "B", sequence: 991, process: 71,
            thread: 72,
            message: "opened scheme://router/demo1")
        #expect(event.threadTime().hasSuffix("    71    72 I Router  : opened scheme://router/demo1"))
        #expect(event.threadTime().contains(".123 "))
    }

    @Test func `what no process wrote has none`() {
        let event = LogEvent(
            time: 1_795_216_999_123, level: .error, tag: "Fail", boot: "", sequence: 0, process: 0, thread: 0,
            message: "404 NO_ROUTE")
        #expect(event.threadTime().hasSuffix("     -     - E Fail    : 404 NO_ROUTE"))
        #expect(event.brief == "E/Fail    (    -): 404 NO_ROUTE")
    }

    @Test func `failures and states are read as they were written`() throws {
        let failure = FailureReport(
            id: "F", code: .noRoute, origin: .router, ref: "c", url: "u", detail: "d", nearest: ["n"], at: 7)
        #expect(try FailureReport(JSONValue(parsing: failure.encoded())) == failure)
        let state = AgentState(
            isOnline: true, epoch: 3, boot: "B", reason: .birth, agent: "k", version: "1", mqtt: 5)
        #expect(try AgentState(JSONValue(parsing: state.encoded())) == state)
        for code in [Code.disk, nil] {
            var ended = state
            ended.last = AgentState.Cause(code, "no space left", at: 7)
            #expect(try AgentState(JSONValue(parsing: ended.encoded())) == ended)
        }
    }

    @Test func `every code has a name of its own with its number`() {
        #expect(Set(Code.all.map { "\($0.number) \($0.name)" }).count == Code.all.count)
        for code in Code.all { #expect(Code(number: code.number, name: code.name) == code) }
    }
}
