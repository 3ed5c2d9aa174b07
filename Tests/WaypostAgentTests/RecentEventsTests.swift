import Testing
import WaypostMessages

@testable import WaypostAgent

@Suite("Recent events")
struct RecentEventsTests {
    private func event(_ sequence: Int64, _ message: String = "m", url: String? = nil, ref: String? = nil)
        -> LogEvent
    {
        LogEvent(
            time: 1_795_216_999_123 + sequence, level: .info, tag: "Router", boot: "B", sequence: sequence,
            process: 71, thread: 72, message: message, url: url, ref: ref)
    }

    private func recent(_ events: RecentEvents, after sequence: Int64 = 0, maximum: Int = .max) -> [LogEvent]
    {
        events.events(after: sequence, maximum: maximum, boot: "B", process: 71)
    }

    @Test func `are what they were, whatever they have`() {
        var events = RecentEvents(limit: 100)
        let all = LogLevel.allCases.enumerated().map { place, level in
            LogEvent(
                time: -1 - Int64(place), level: level, tag: level == .info ? "" : "Tag \(place)", boot: "B",
                sequence: Int64(place + 7), process: 71, thread: .max - Int64(place),
                message: String(repeating: "ä\n", count: place * 300),
                url: place > 2 ? "app://a/\(place)" : nil,
                isError: level > .warning, ref: place % 2 == 0 ? "c\(place)" : nil)
        }
        for event in all { events.append(event) }
        #expect(recent(events) == all)
    }

    @Test(arguments: [1, 2, 999, 2_000]) func `are the last ones, in order`(limit: Int) {
        var events = RecentEvents(limit: limit)
        #expect(recent(events).isEmpty)
        for number in 1...2_500 {
            events.append(event(Int64(number), String(repeating: "x", count: number % 97), ref: "c\(number)"))
        }
        let last = recent(events)
        #expect(last.map(\.sequence) == Array(Int64(2_501 - limit)...2_500))
        #expect(
            last.allSatisfy { $0.message.utf8.count == Int($0.sequence % 97) && $0.ref == "c\($0.sequence)" })
        #expect(
            recent(events, maximum: 5).map(\.sequence)
                == Array((1...2_500).map(Int64.init).suffix(min(5, limit))))
        #expect(recent(events, after: 2_499).map(\.sequence) == [2_500])
        #expect(recent(events, after: 2_500).isEmpty)
        #expect(recent(events, after: .max).isEmpty)
        #expect(recent(events, maximum: 0).isEmpty)
    }

    @Test func `are many where many are wanted, and only those that are asked for are read`() {
        var events = RecentEvents(limit: 200_000)
        for number in 1...200_000 { events.append(event(Int64(number))) }
        #expect(recent(events, maximum: 500).map(\.sequence) == Array(199_501...200_000))
        #expect(recent(events, after: 199_999, maximum: 500).map(\.sequence) == [200_000])
    }

    @Test(arguments: [1, 2, 7, 500]) func `say what they said, however often it was said before`(limit: Int) {
        var events = RecentEvents(limit: limit)
        var all: [LogEvent] = []
        for number in 1...3_000 {
            // Long and short runs of the same, and empty ones.
            let message = number % 700 < 300 ? "the same" : number % 11 < 4 ? "" : "\(number / 3)"
            all.append(event(Int64(number), message, ref: number % 5 == 0 ? nil : "c\(number)"))
            if number % 400 > 380 { all[number - 1].tag = "Other" }
            events.append(all[number - 1])
            if number % 97 == 0 { #expect(recent(events) == all.suffix(limit)) }
        }
        #expect(recent(events, maximum: 3) == all.suffix(min(3, limit)))
    }

    @Test func `keep their bytes, also beside those that look the same`() {
        var events = RecentEvents(limit: 10)
        let messages = ["caf\u{e9}", "cafe\u{301}", "cafe\u{301}", "caf\u{e9}"]
        for (place, message) in messages.enumerated() { events.append(event(Int64(place + 1), message)) }
        #expect(recent(events).map { Array($0.message.utf8) } == messages.map { Array($0.utf8) })
    }

    @Test func `may be longer than all that is kept in one piece`() {
        var events = RecentEvents(limit: 3)
        let long = String(repeating: "u", count: 70_000)
        for number in 1...5 { events.append(event(Int64(number), url: long)) }
        let last = recent(events)
        #expect(last.map(\.sequence) == [3, 4, 5])
        #expect(last.allSatisfy { ($0.url ?? "").utf8.count <= 65_535 && ($0.url ?? "").hasSuffix("u…") })
    }
}
