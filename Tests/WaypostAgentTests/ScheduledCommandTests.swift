import Foundation
import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite final class `A command that waits for its time`: Sendable {
    private static let hour: Int64 = 3_600_000
    private let ran = Guarded<[String]>([])

    private func router() throws -> Router {
        let router = Router()
        try router.register("a://do/:id") { [self] call in
            ran.withLock { $0.append(call.parameters["id"]?.stringValue ?? "?") }
            return .opened()
        }
        return router
    }

    private func open(_ id: String, _ more: String) -> String {
        #"{"id":"\#(id)","type":"open","url":"a://do/\#(id)",\#(more)}"#
    }

    private func after(_ milliseconds: Int64, expires: Int64? = nil) -> String {
        #""after":\#(TurnedClock.start + milliseconds)"#
            + (expires.map { #","exp":\#(TurnedClock.start + $0)"# } ?? "")
    }

    private func state(_ id: String, _ harness: AgentHarness) throws -> InboxState? {
        try harness.agent.store.commit { try $0.timeline(topic: "waypost/v1/k1/cmd/me", id: id) }?.state
    }

    private func send(_ payload: String, to harness: AgentHarness) async throws {
        let id = try JSONValue(parsing: payload)["id"]?.stringValue
        harness.receive(payload, on: "waypost/v1/k1/cmd/me")
        _ = try await harness.published.first("when \(id ?? "?") begins") { message -> Bool? in
            guard message.topic == "waypost/v1/k1/reply/me",
                let json = try? JSONValue(parsing: message.payload),
                json["id"]?.stringValue == id
            else { return nil }
            return json["status"] == "accepted" && json["due"] != nil ? true : nil
        }
    }

    private func advance(_ harness: AgentHarness, _ milliseconds: Int64) {
        harness.clock.advance(milliseconds)
        harness.agent.executor.lookAtClock()
    }

    @Test func `is on disk as scheduled, is shown, and runs once when its time has come`() async throws {
        let harness = try await AgentHarness(router: router())
        try await send(open("c1", after(Self.hour)), to: harness)
        #expect(try state("c1", harness) == .scheduled)
        #expect(harness.agent.health.json["waiting"]?["scheduled"] == 1)
        #expect(harness.agent.health.json["waiting"]?["next"] == .int(TurnedClock.start + Self.hour))
        let asked = try await harness.command(#"{"id":"q1","type":"inspect","target":"c1"}"#)
        #expect(asked.result["commands"]?[0]?["state"] == "scheduled")
        #expect(asked.result["commands"]?[0]?["due"] == .int(TurnedClock.start + Self.hour))
        advance(harness, Self.hour - 1)
        #expect(try state("c1", harness) == .scheduled && ran.withLock(\.self) == [])
        advance(harness, 1)
        #expect(try await harness.reply(to: "c1").code == .ok)
        #expect(ran.withLock(\.self) == ["c1"])
        // The same again, with another time, is the same command.
        harness.receive(open("c1", after(2 * Self.hour)), on: "waypost/v1/k1/cmd/me")
        #expect(try await harness.command(#"{"id":"q2","type":"ping"}"#).code == .ok)
        #expect(ran.withLock(\.self) == ["c1"])
        try await harness.close()
    }

    @Test func `comes into its lane in the order of the times`() async throws {
        let harness = try await AgentHarness(router: router())
        for (id, time) in [("c3", 3), ("c1", 1), ("c2", 2)] as [(String, Int64)] {
            try await send(open(id, after(time * 1_000, expires: Self.hour)), to: harness)
        }
        advance(harness, 60_000)
        for id in ["c1", "c2", "c3"] { #expect(try await harness.reply(to: id).code == .ok) }
        #expect(ran.withLock(\.self) == ["c1", "c2", "c3"])
        try await harness.close()
    }

    @Test func `waits on over a restart, and a crash counts no start of it`() async throws {
        let directory = NSTemporaryDirectory() + "waypost-scheduled-\(UUID().uuidString)"
        let clock = TurnedClock()
        for round in 0..<5 {
            let harness = try await AgentHarness(directory: directory, clock: clock, router: router())
            if round == 0 { try await send(open("c1", after(Self.hour)), to: harness) }
            #expect(try state("c1", harness) == .scheduled)
            // As if it had been killed.
            try harness.agent.store.commit { try $0.setStoppedCleanly(false) }
            try await harness.close()
            if round < 4 { try killed(directory) }
        }
        clock.advance(Self.hour)
        let harness = try await AgentHarness(directory: directory, clock: clock, router: router())
        let reply = try await harness.reply(to: "c1")
        #expect(reply.code == .ok && reply.attempt == 1)
        #expect(ran.withLock(\.self) == ["c1"])
        try await harness.close()
    }

    private func killed(_ directory: String) throws {
        let store = try Store(directory: directory)
        try store.commit { try $0.setStoppedCleanly(false) }
        store.close()
    }

    @Test func `begins only in its window, and waits for the next one when its turn comes too late`()
        async throws
    {
        let (isFree, free) = AsyncStream.makeStream(of: Void.self)
        let router = try router()
        try router.register("a://slow") { _ in
            // Holds the lane as a handler that takes long does.
            for await _ in isFree { break }
            return .opened()
        }
        let start = TurnedClock.start
        let harness = try await AgentHarness(router: router) {
            ($0.limits.handlerDeadline, $0.limits.commandLife) = (.seconds(86_400), 3 * 86_400)
        }
        let minutes = start / 60_000 % 1_440
        func time(_ offset: Int64) -> String {
            let minute = (minutes + offset) % 1_440
            return [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
        }
        let window = #""window":"\#(time(60))-\#(time(120)) utc","exp":\#(start + 48 * Self.hour)"#
        try await send(open("c1", window), to: harness)
        harness.receive(
            #"{"id":"slow","type":"open","url":"a://slow","exp":\#(start + 80_000_000)}"#,
            on: "waypost/v1/k1/cmd/me")
        advance(harness, 61 * 60_000)
        try await harness.until("its turn to come") { (try? self.state("c1", $0)) == .received }
        // The window closes while the lane is busy.
        harness.clock.advance(60 * 60_000)
        try await harness.until("it to wait again") { (try? self.state("c1", $0)) == .scheduled }
        free.finish()
        #expect(try await harness.reply(to: "slow").code == .ok)
        #expect(ran.withLock(\.self) == [])
        advance(harness, 23 * Self.hour - 60_000)
        #expect(try await harness.reply(to: "c1").code == .ok)
        try await harness.close()
    }

    @Test func `can be canceled by its sender alone, and expires`() async throws {
        let harness = try await AgentHarness(router: router())
        try await send(open("c1", after(Self.hour)), to: harness)
        try await send(open("c2", after(Self.hour, expires: Self.hour + 1)), to: harness)
        let cancel = #","type":"cancel","target":"c1"}"#
        #expect(try await harness.command(#"{"id":"x1"\#(cancel)"#, from: "other").code == .notAllowed)
        #expect(try await harness.command(#"{"id":"x2"\#(cancel)"#).result["was"] == "waiting")
        #expect(try await harness.reply(to: "c1").code == .canceled)
        #expect(try state("c1", harness) != .scheduled)
        advance(harness, Self.hour + 1)
        #expect(try await harness.reply(to: "c2").code == .expired)
        #expect(harness.agent.health.json["waiting"]?["scheduled"] == 0)
        #expect(ran.withLock(\.self) == [])
        try await harness.close()
    }

    @Test func `neither begins nor expires while the clock is wrong`() async throws {
        let harness = try await AgentHarness(router: router())
        try await send(open("c1", after(Self.hour, expires: 2 * Self.hour)), to: harness)
        // Somebody sets the clock by a day, sees it, and sets it right.
        harness.clock.step(24 * Self.hour)
        harness.agent.executor.lookAtClock()
        harness.clock.step(-24 * Self.hour)
        harness.agent.executor.lookAtClock()
        #expect(try state("c1", harness) == .scheduled)
        let refused = try await harness.command(open("c2", #""window":"02:00-04:00","ttl":3600000"#))
        #expect(refused.code == .clock && refused.detail?.contains("after and window") == true)
        advance(harness, 61_000)
        // It is right again, and its time is still to come.
        #expect(try state("c1", harness) == .scheduled)
        advance(harness, Self.hour)
        #expect(try await harness.reply(to: "c1").code == .ok)
        // A clock that was really wrong before: what was to come has passed.
        try await send(open("c3", after(4 * Self.hour, expires: 5 * Self.hour)), to: harness)
        harness.clock.step(23 * Self.hour)
        harness.agent.executor.lookAtClock()
        #expect(harness.replies(to: "c3").isEmpty)
        advance(harness, 61_000)
        #expect(try await harness.reply(to: "c3").code == .expired)
        try await harness.close()
    }

    @Test(arguments: [
        (#""after":-1"#, "after must be 0 to"), (#""after":9223372036854775807"#, "after must be 0 to"),
        (#""after":"tomorrow""#, "after must be an integer"), (#""after":1.5"#, "after must be an integer"),
        (#""window":7"#, "window must be a string"),
        (#""window":"at night""#, "write days and times such as"),
        // The year 9999 and further than any command is kept.
        (#""after":253370764800000"#, "after must be 0 to"),
        (#""after":9999999999999"#, "keeps a command for 24 h at most (command-life)"),
        (#""after":9999999999999,"exp":9999999999999"#, "keeps a command for 24 h at most (command-life)"),
        (
            #""after":\#(TurnedClock.start + 60_000),"exp":\#(TurnedClock.start + 60_000)"#,
            "expires before its time"
        ),
        (#""after":\#(TurnedClock.start + 60_000),"ttl":60000"#, "expires before its time"),
    ])
    func `is refused where its time can't come, and nothing waits`(fields: String, detail: String)
        async throws
    {
        let harness = try await AgentHarness(router: router())
        let reply = try await harness.command(open("c1", fields))
        #expect(reply.code == .badField && reply.detail?.contains(detail) == true, "\(reply)")
        let ping = try await harness.command(#"{"id":"p","type":"ping","after":1}"#)
        #expect(ping.code == .badField && ping.detail == "after and window are for open, call and navigate")
        #expect(harness.agent.health.json["waiting"]?["scheduled"] == 0)
        try await harness.close()
    }

    @Test func `is refused where no window opens in its life, and where too many wait`() async throws {
        let harness = try await AgentHarness(router: router()) {
            ($0.limits.scheduledCommands, $0.limits.senderShare) = (4, 50)
        }
        // Four days from now, for a day.
        let names = ["thu", "fri", "sat", "sun", "mon", "tue", "wed"]
        let day = names[Int((TurnedClock.start / 86_400_000 + 4) % 7)]
        let reply = try await harness.command(open("c0", #""window":"\#(day) 00:00-24:00 utc""#))
        #expect(
            reply.code == .badField && reply.detail?.contains("its time does not come") == true, "\(reply)")
        for id in ["c1", "c2"] { try await send(open(id, after(Self.hour)), to: harness) }
        let full = try await harness.command(open("c3", after(Self.hour)))
        #expect(
            full.code == .busy
                && full.detail?.contains("me has used its share of 2 commands that come") == true, "\(full)")
        for id in ["d1", "d2"] {
            harness.receive(open(id, after(Self.hour)), on: "waypost/v1/k1/cmd/you")
            try await harness.until("\(id) to wait") {
                $0.agent.executor.scheduled.count >= (id == "d1" ? 3 : 4)
            }
        }
        let last = try await harness.command(open("e1", after(Self.hour)), from: "third")
        #expect(
            last.code == .busy && last.detail?.hasPrefix("4 commands that came before") == true, "\(last)")
        // Others go on.
        #expect(try await harness.command(open("c4", #""ttl":1000"#)).code == .ok)
        // What has ended makes space again.
        #expect(try await harness.command(#"{"id":"x","type":"cancel","target":"c1"}"#).code == .ok)
        try await send(open("c5", after(Self.hour)), to: harness)
        try await harness.close()
    }

    @Test func `is kept as long as the agent is set to, and says so`() async throws {
        let harness = try await AgentHarness(router: router()) { $0.limits.commandLife = 10 * 86_400 }
        #expect(harness.agent.health.limits["commandLife"] == 864_000)
        try await send(open("c1", after(9 * 24 * Self.hour, expires: 20 * 24 * Self.hour)), to: harness)
        advance(harness, 9 * 24 * Self.hour)
        let reply = try await harness.reply(to: "c1")
        #expect(
            reply.code == .ok && reply.warnings == ["it is kept for 10 d, not for 20 d: see command-life"])
        try await harness.close()
    }
}
