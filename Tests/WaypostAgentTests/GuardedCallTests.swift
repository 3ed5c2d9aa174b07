import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// A call over the broker meets the hooks of the program, and its method may ask who sent it.
@Suite(.timeLimit(.minutes(60))) struct `A call of a backend` {
    /// What the hook and the method saw.
    private final class Witness: Sendable {
        let store = Guarded<Store?>(nil)
        let asked = Guarded<[String]>([])
        let printed = Guarded<[String]>([])

        func ask(_ call: PendingCall) throws -> Bool {
            let context = call.context
            let started = try store.withLock { $0 }?.commit { try $0.unfinished() }
                .contains { $0.id == context.ref && $0.state == .started }
            asked.withLock {
                $0.append(
                    "\(call.service).\(call.method) \(context.caller ?? "-") \(context.ref ?? "-") "
                        + "\(context.attempt) \(started == false)")
            }
            return context.caller != "ops"
        }
    }

    private static let calls = [
        #""type":"call","service":"Printer","method":"print","args":["a page"]}"#,
        #""type":"call","service":"Printer","method":"printText:","args":{"ivar1":"a page"}}"#,
        #""type":"open","url":"scheme://services?protocol=Printer&method=print","params":{"ivar1":"a page"}}"#,
    ]

    @Test(arguments: calls) func `is stopped by a hook that sees its sender and id, before it has started`(
        call: String
    ) async throws {
        let witness = Witness()
        let router = Router()
        try router.services.expose(
            ExposedService("Printer", instance: witness) {
                Exposed("print(_:)", selector: "printText:") {
                    (witness: Witness, context: OpenContext, text: String) in
                    witness.printed.withLock {
                        $0.append("\(text) for \(context.caller ?? "-"), \(context.ref ?? "-")")
                    }
                }
            })
        router.services.willCall("printing") { call in
            (try? witness.ask(call)) == true ? .proceed : .stop(reason: "ops may not print")
        }
        let harness = try await AgentHarness(router: router)
        witness.store.withLock { $0 = harness.agent.store }
        let stopped = try await harness.command(#"{"id":"c-1","# + call, from: "ops")
        #expect(stopped.code == .intercepted && stopped.status == .rejected)
        #expect(stopped.detail == "intercepted by printing: ops may not print")
        #expect(witness.printed.withLock(\.self).isEmpty)
        let done = try await harness.command(#"{"id":"c-2","# + call, from: "me")
        #expect(done.code == .ok)
        #expect(witness.printed.withLock(\.self) == ["a page for me, c-2"])
        #expect(
            witness.asked.withLock(\.self) == [
                "Printer.print(_:) ops c-1 1 true", "Printer.print(_:) me c-2 1 true",
            ])
        // The answer is kept: the same bytes again ask no one.
        let again = try await harness.command(#"{"id":"c-1","# + call, from: "ops")
        #expect(again.isDuplicate && again.code == .intercepted)
        #expect(witness.asked.withLock(\.count) == 2)
        try await harness.close()
    }
}
