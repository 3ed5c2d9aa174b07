import MQTTLink
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostConsole

/// What a tab gets of the log, and what it is told that it does not get.
@Suite struct LogViewTests {
    private func line(_ number: Int, tag: String = "Router", agent: String = "k1") -> AgentEvent {
        AgentEvent(
            agent: agent,
            event: LogEvent(
                time: Int64(number), level: .info, tag: tag, boot: "B", sequence: Int64(number), process: 1,
                thread: 1, message: "line \(number)"),
            source: Array("{}".utf8))
    }

    private let time = Duration.seconds(60)

    private func ring(_ count: Int, capacity: Int = 100) -> LineRing {
        var ring = LineRing(capacity: capacity)
        for number in 1...count { ring.append(line(number, tag: number % 2 == 0 ? "Router" : "Link"), at: 0) }
        return ring
    }

    @Test func `the ring keeps the newest and gives each its number`() {
        let ring = ring(250)
        #expect(ring.first == 151 && ring.next == 251 && ring.count == 100)
        #expect(ring[151]?.line.event.message == "line 151")
        #expect(ring[250]?.line.event.message == "line 250")
        #expect(ring[150] == nil && ring[251] == nil)
        #expect(ring[200]?.line.source.isEmpty == true)
        #expect(Array(ring.lines(before: ring.next).prefix(2)).map(\.number) == [250, 249])
        #expect(Array(ring.lines(from: 0).prefix(2)).map(\.number) == [151, 152])
    }

    @Test func `frames follow each other without a gap`() throws {
        let (ring, view) = (ring(90), try LogView("tag:Router"))
        var (next, seen): (Int64, [Int64]) = (1, [])
        for _ in 0..<5 {
            let frame = view.frame(of: ring, from: next, limit: 10, backlog: 1_000, within: time, now: 0)
            #expect(frame.dropped == 0 && frame.lines.count <= 10)
            seen += frame.lines.map(\.number)
            next = frame.next
        }
        #expect(seen == Array(stride(from: 2, through: 90, by: 2)))
        #expect(next == 91)
    }

    @Test func `a slow tab is told how many lines it does not get`() throws {
        let (ring, view) = (ring(250), try LogView(nil))
        // Those that the ring has no more, then those that are too far behind.
        let frame = view.frame(of: ring, from: 1, limit: 64, backlog: 40, within: time, now: 0)
        #expect(frame.dropped == 150 + 60)
        #expect(frame.lines.first?.number == 211 && frame.lines.count == 40 && frame.next == 251)
    }

    @Test func `what the query hides is not counted as dropped`() throws {
        let (ring, view) = (ring(100), try LogView("tag:Router"))
        let frame = view.frame(of: ring, from: 1, limit: 64, backlog: 40, within: time, now: 0)
        #expect(frame.dropped == 30)
        #expect(frame.lines.map(\.number) == Array(stride(from: 62, through: 100, by: 2)))
    }

    @Test func `scrolling back ends at the oldest line that is kept`() async throws {
        let (ring, view) = (ring(250), try LogView("tag:Link", agent: "k1"))
        let page = try await view.json(of: ring, .before(200), limit: 20, now: 0)
        #expect(page["lines"]?.arrayValue?.last?["n"]?.intValue == 199)
        #expect(page["lines"]?.arrayValue?.first?["n"]?.intValue == 161)
        #expect(page["more"] == true)
        let last = try await view.json(of: ring, .before(161), limit: 20, now: 0)
        #expect(last["lines"]?.arrayValue?.count == 5 && last["more"] == false)
    }

    @Test func `a link to a moment shows what was before and behind it`() async throws {
        let (ring, view) = (ring(250), try LogView(nil))
        let page = try await view.json(of: ring, .around(200), limit: 10, now: 0)
        #expect(page["lines"]?.arrayValue?.compactMap { $0["n"]?.intValue } == Array(195...204))
        let next = try await view.json(of: ring, .after(204), limit: 3, now: 0)
        #expect(next["lines"]?.arrayValue?.compactMap { $0["n"]?.intValue } == [205, 206, 207])
        let late = try await view.json(of: ring, .around(.max), limit: 10, now: 0)
        #expect(late["lines"]?.arrayValue?.count == 5)
        let none = try await view.json(of: ring, .after(.max), limit: 3, now: 0)
        #expect(none["lines"] == [])
    }

    @Test func `a copy stays as it was while lines are added and forgotten`() {
        var ring = ring(700, capacity: 600)
        let copy = ring
        for number in 701...1_400 { ring.append(line(number), at: 0) }
        #expect(copy.lines(from: 0).map(\.number) == Array(101...700))
        #expect(ring.lines(from: 0).map(\.number) == Array(801...1_400))
        #expect(ring[801]?.line.event.message == "line 801")
    }

    @Test func `lines are kept by bytes too, with texts that can be shown`() {
        var ring = LineRing(maximumBytes: 100_000)
        let long = String(repeating: "x", count: 1 << 17)
        for number in 1...100 {
            var line = line(number)
            line.event.message = long
            line.event.url = "a://" + long
            line.event.ref = long
            ring.append(line, at: 0)
        }
        #expect((10...40).contains(ring.count))
        let text = ring[100]?.line.event.message ?? ""
        #expect(text.utf8.count <= 2_048 && text.hasSuffix("…"))
        #expect((ring[100]?.line.event.ref?.utf8.count ?? 0) <= 256)
    }

    @Test func `a number of a line that is none is no place to go on from`() throws {
        let (ring, view) = (ring(250), try LogView(nil))
        for start in [.min, .min + 1, -1, 0] as [Int64] {
            let frame = view.frame(of: ring, from: start, limit: 64, backlog: 40, within: time, now: 0)
            #expect(frame.lines.first?.number == 211 && frame.dropped >= 210)
        }
        for start in [.max, .max - 1, 252] as [Int64] {
            let frame = view.frame(of: ring, from: start, limit: 64, backlog: 40, within: time, now: 0)
            #expect(frame.lines.isEmpty)
        }
    }

    @Test func `a query that takes too long is ended, and others go on meanwhile`() async throws {
        let text = String(repeating: "a", count: 2_040)
        let ring = (1...20_000).reduce(into: LineRing()) { ring, number in
            var line = line(number)
            line.event.message = text
            ring.append(line, at: 0)
        }
        let view = try LogView("message~:'(a?){100}(a|aa|.){50}(a*)*b'")
        let other = Task.detached { 1 }
        await #expect {
            _ = try await view.json(of: ring, .end, limit: 500, now: 0)
        } throws: { error in
            if case .tooLong? = error as? ViewError { true } else { false }
        }
        #expect(await other.value == 1)
        // A stream looks for a moment, and comes back for the rest.
        let frame = view.frame(
            of: ring, from: ring.first, limit: 64, backlog: 100_000, within: .milliseconds(1), now: 0)
        #expect(frame.next < ring.next && frame.dropped == 0)
    }

    @Test func `who no longer waits for lines ends the search`() async throws {
        let task = Task { [ring = ring(250)] in
            while !Task.isCancelled { await Task.yield() }
            var patience = Patience()
            while true {
                try await patience.look()
                _ = ring.count
            }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a query is no longer than an agent takes`() {
        #expect(throws: ViewError.self) { try LogView(String(repeating: "a ", count: 513)) }
    }

    @Test func `a query that can't be read names its term`() {
        #expect {
            try LogView("levl:W")
        } throws: { error in
            guard case .invalid(let text)? = error as? ViewError else { return false }
            return text.contains("levl")
        }
    }

    @Test func `what an agent gives again is older than all, and nothing is there twice`() throws {
        var state = FleetState(began: 0)
        var inbox = FleetInbox(topics: .standard)
        for number in [7, 8] {
            let event = line(number).event
            let topic = Topics.standard.log(of: "k1", level: .info)
            let message = MQTTMessage(topic: topic, payload: event.encoded())
            for news in inbox.read(message, now: 10) { state.take(news, now: 10) }
        }
        let view = try LogView(nil, agent: "k1")
        let shown = view.json(ofReplayed: (4...9).map { line($0) }, state, now: 10)
        let lines = try #require(shown["lines"]?.arrayValue)
        #expect(lines.compactMap { $0["message"]?.stringValue } == ["line 4", "line 5", "line 6"])
        #expect(lines.compactMap { $0["n"]?.intValue } == [-3, -2, -1])
        let all = try LogView(nil, agent: "k2").json(ofReplayed: [line(1, agent: "k2")], state, now: 10)
        #expect(all["lines"]?.arrayValue?.count == 1)
    }
}
