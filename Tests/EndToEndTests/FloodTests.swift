import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI
@testable import WaypostLab

/// More comes than is read: what is kept has a bound, and what is dropped is counted and shown.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct FloodTests {
    private func event(_ number: Int, bytes: Int = 10) -> String {
        let text = String(repeating: "x", count: bytes)
        return
            #"{"t":1795216999123,"l":"I","tag":"Flood","boot":"B","seq":\#(number),"pid":1,"tid":1,"msg":"\#(text)"}"#
    }

    @Test func `a session keeps as much as it may, and knows how much it dropped`() async throws {
        let broker = try await TestBroker.start(["allow_anonymous true", "max_queued_messages 0"])
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let port = broker.port
        let session = try await BackendSession.connect(
            BackendConfiguration(localPort: port, name: "slow"), required: ["waypost/v1/k9/log/+"],
            messageLimit: 50)
        for number in 1...500 { try await backend.publish(event(number), to: "waypost/v1/k9/log/w") }
        try await broker.waitForLog(containing: "Received PUBACK from waypost-slow", times: 500)
        session.alarm(after: .zero)
        var numbers: [Int64] = []
        while case .message(let message) = try await session.next() {
            numbers += AgentEvent.events(message.payload, from: "k9").map(\.event.sequence)
        }
        #expect(numbers.count <= 50)
        #expect(numbers.last == 500)
        #expect(numbers.count + session.loss.dropped == 500)
        #expect(
            MessageLoss(dropped: 12, skipped: 1).notices == [
                "12 messages were dropped: the reader is too slow", "1 message was too large to be read",
            ])
        await session.close()
        await backend.disconnect()
    }

    @Test func `logcat whose reader is slow says how much it dropped, and goes on with what is new`()
        async throws
    {
        let broker = try await TestBroker.start(["allow_anonymous true", "max_queued_messages 0"])
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        // The reader reads nothing until the test opens the other end of the pipe `go`.
        let go = broker.directory + "/go"
        #expect(mkfifo(go, 0o600) == 0)
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = [
            "-c", #"{ "$0" logcat --json --broker "$1" 2>&3 | { read line <"$2"; tail -c 200; }; } 3>&1"#,
            CommandProcess.executable.path, broker.url, go,
        ]
        let output = Pipe.forOneChild()
        shell.standardOutput = output
        let text = EventLog<String>()
        let ended = EventLog<Int32>()
        shell.terminationHandler = { ended.append($0.terminationStatus) }
        try withNoSignalBlocked { try shell.run() }
        text.follow(output.fileHandleForReading, \.self)
        try await broker.waitForLog(containing: "Sending SUBACK to waypost-", times: 3)
        let bytes = 900_000
        let count = BackendSession.byteLimit / bytes + 20
        for number in 1...count {
            try await backend.publish(event(number, bytes: bytes), to: "waypost/v1/k9/log/w")
        }
        try await broker.waitForLog(containing: "Received PUBACK from waypost-", times: count)
        try Data("go\n".utf8).write(to: URL(fileURLWithPath: go))
        try await text.wait(for: "the notice") { $0.joined().contains("dropped: the reader is too slow") }
        // The end of the connection ends nothing; what came last is shown when the command ends.
        let pid = try #require(try processes(mentioning: "logcat", and: broker.url).first)
        kill(pid, SIGTERM)
        try await ended.wait(for: "the end of the pipeline") { !$0.isEmpty }
        let found = try #require(text.events.joined().firstMatch(of: /--- (\d+) messages were dropped/))
        let dropped = try #require(Int(found.1))
        #expect(dropped >= 5 && dropped < count)
        await backend.disconnect()
    }

    /// The ids of running processes with both texts in their command lines, shells left out.
    private func processes(mentioning first: String, and second: String) throws -> [Int32] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }.filter { id in
            let bytes = (try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(id)/cmdline"))) ?? Data()
            let words = bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            return words.first?.hasSuffix("waypost") == true && words.contains(first)
                && words.contains(second)
        }
    }

    @Test func `a watch keeps to its bounds and shows what was dropped`() throws {
        var model = WatchModel(topics: .standard, filter: LogFilter())
        for number in 1...2_000 {
            model.saw(
                MQTTMessage(
                    topic: "waypost/v1/k9/log/i", payload: Array(event(number, bytes: 5_000).utf8)))
            model.saw(
                MQTTMessage(
                    topic: "waypost/v1/k9/fail",
                    payload: Array(#"{"code":404,"name":"NO_ROUTE","where":"router","id":"\#(number)"}"#.utf8)
                ))
        }
        model.loss.dropped = 12
        #expect(model.lines.count == WatchModel.maximumLines)
        #expect(model.failures.count == WatchModel.maximumFailures)
        #expect(model.failureCount == 2_000)
        #expect(model.lines.allSatisfy { $0.source.isEmpty && $0.event.message.count <= 2_048 })
        let screen = WatchScreen(rows: 24, columns: 200, style: Style(isOn: false))
        #expect(screen.lines(model).first?.text.contains("12 messages were dropped") == true)
    }

    @Test func `more agents than any broker has are not remembered one by one`() {
        var roster = Roster(topics: .standard, maximumMembers: 10_000)
        var deduplicator = EventDeduplicator()
        for number in 0..<10_010 {
            roster.saw(
                MQTTMessage(
                    topic: "waypost/v1/k\(number)/state",
                    payload: Array(#"{"state":"online","epoch":1,"why":"birth"}"#.utf8)))
            let event = LogEvent(
                time: 0, level: .info, tag: "T", boot: "B", sequence: 1, process: 1, thread: 1, message: "")
            let isNew = deduplicator.note(event, from: "k\(number)")
            #expect(isNew)
        }
        #expect(roster.members.count == 10_000)
        #expect(roster.gap != nil)
    }

    @Test func `one agent with long documents and events does not fill the memory of a tool`() throws {
        var roster = Roster(topics: .standard, maximumBytes: 640_000)
        let state =
            #"{"state":"online","epoch":1,"why":"birth","version":"\#(String(repeating: "v", count: 9_000))"}"#
        for number in 0..<100 {
            roster.saw(MQTTMessage(topic: "waypost/v1/k\(number)/state", payload: Array(state.utf8)))
        }
        #expect(roster.gap != nil)
        #expect(roster.members.count < 80)
        #expect(
            AgentTable(roster.summaries(now: 0), now: 0).rows().allSatisfy { $0.lines.joined().count < 2_000 }
        )
        // What an agent sends again takes the place of what it sent before.
        for _ in 0..<100 { roster.saw(MQTTMessage(topic: "waypost/v1/k0/health", payload: Array("{}".utf8))) }
        #expect(roster.members["k0"]?.health != nil)

        var replay = ReplayCollector(agents: ["k9"], sender: "me", topics: .standard, maximumBytes: 640_000)
        let long = event(0, bytes: 9_000)
        for number in 1...100 {
            let payload = long.replacing("\"seq\":0", with: "\"seq\":\(number)")
            _ = replay.saw(MQTTMessage(topic: "waypost/v1/k9/log/i", payload: Array(payload.utf8)))
        }
        #expect(replay.dropped > 20)
        #expect(replay.wanted.count + replay.dropped == 100)
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `each event is new once, in whatever order a replay brings it`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var deduplicator = EventDeduplicator()
        var known: Set<Int64> = []
        var newest: Int64 = 0
        for _ in 0..<5_000 {
            // Mostly the next few, at times far ahead, at times from the past.
            let step: Int64 =
                switch random.next() % 100 {
                case 0: Int64(random.next() % 9_000)
                case 1...30: -Int64(random.next() % 4_000)
                default: Int64(random.next() % 3)
                }
            let number = max(1, newest + step)
            let event = LogEvent(
                time: 0, level: .info, tag: "T", boot: "B", sequence: number, process: 1, thread: 1,
                message: "")
            let isNew = deduplicator.note(event, from: "k")
            #expect(isNew == known.insert(number).inserted, "seed \(seed), \(number) at \(newest)")
            newest = max(newest, number)
        }
    }

    @Test func `a bench remembers the open commands only, and counts names of errors up to a bound`() {
        var tally = BenchTally()
        for number in 0..<10_000 {
            _ = tally.sends(due: .now)
            let code = Code.unknown(number: 599, name: "NEW_\(number)")
            tally.replied(number, Reply(id: "b-\(number)", code: code, at: 0), at: .now)
        }
        tally.replied(7, Reply(id: "b-7", code: .ok, at: 0), at: .now)
        tally.replied(10_000, Reply(id: "b-10000", code: .ok, at: 0), at: .now)
        #expect(tally.sent == 10_000 && tally.answered == 10_000 && tally.open == 0)
        #expect(tally.duplicates == 1)
        #expect(tally.errors.count == BenchTally.maximumErrors + 1)
        #expect(tally.errors["other errors"] == 10_000 - BenchTally.maximumErrors)
    }
}
