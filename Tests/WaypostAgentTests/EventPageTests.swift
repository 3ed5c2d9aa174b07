import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

@Suite("Pages of recent events")
struct EventPageTests {
    private static let queries = [
        "", "tag:Router", "tag:Router tag:Service -message:7", "level:W", "is:failure", "code:404",
        "'3' url:x", "agent:k1 -tag=:Map", "agent:k2",
    ]

    private static func event(_ number: Int64, _ random: inout SeededGenerator) -> LogEvent {
        let level = LogLevel.allCases.randomElement(using: &random) ?? .info
        let messages = ["404 NO_ROUTE: \(number)", "line \(number)", "same"]
        let message = messages.randomElement(using: &random) ?? ""
        return LogEvent(
            // The clock is put forward and back.
            time: 1_795_216_999_123 + number * 10 + Int64.random(in: -300...300, using: &random),
            level: level,
            tag: ["Router", "Service", "Map"].randomElement(using: &random) ?? "", boot: "B",
            sequence: number, process: 71, thread: 72,
            message: message + String(repeating: "x", count: Int.random(in: 0...300, using: &random)),
            url: Bool.random(using: &random) ? "app://x/\(number)" : nil, isError: level >= .error)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `together have what the filter takes, each event once, while new ones come`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let limit = [1, 7, 255, 256, 257, 700, 3_000].randomElement(using: &random) ?? 1
        var ring = RecentEvents(limit: limit)
        var all: [LogEvent] = []
        func add(_ count: Int) {
            for _ in 0..<count {
                let event = Self.event(Int64(all.count + 1), &random)
                all.append(event)
                ring.append(event)
            }
        }
        add(Int.random(in: 0...1_000, using: &random))
        let filter = EventPage.Filter(
            since: Int64.random(in: 0...3, using: &random) * 100,
            oldest: Bool.random(using: &random) ? .min : 1_795_216_999_123 + 5_000,
            level: LogLevel.allCases.randomElement(using: &random) ?? .verbose,
            query: try LogQuery(forAgent: Self.queries.randomElement(using: &random) ?? ""), agent: "k1",
            now: 1_795_217_999_123)
        let known = all.count
        // What leaves the ring before its page was asked for can't be there.
        var oldestAtEnd = ring.numbers?.lowerBound ?? 0
        var pages: [[Int64]] = []
        var place = Fields.largestInteger
        var isFirst = true
        while true {
            let maximum = Int.random(in: 1...40, using: &random)
            let bytes = Int.random(in: 200...4_000, using: &random)
            var page = EventPage(filter, before: place, maximum: maximum, bytes: bytes)
            let step = Int.random(in: 1...90, using: &random)
            reading: while true {
                let events = ring.events(page.open, maximum: step, boot: "B", process: 71)
                guard !events.isEmpty else { break }
                for event in events.reversed() {
                    guard page.look(at: event) else { break reading }
                    // Its time is over, at any place.
                    if Int.random(in: 0..<200, using: &random) == 0 { break reading }
                }
            }
            let numbers = page.events.compactMap { $0["seq"]?.intValue }
            #expect(numbers == numbers.sorted() && numbers.count <= maximum)
            let size = page.events.reduce(0) { $0 + $1.serialized().count + 1 }
            #expect(numbers.count == 1 || size <= bytes)
            pages.append(numbers)
            #expect(page.place <= place)
            let rest = filter.since + 1..<max(page.place, filter.since + 1)
            guard let next = ring.events(rest, maximum: 1, boot: "B", process: 71).last else { break }
            #expect(isFirst || next.sequence < place)
            place = page.place
            isFirst = false
            add(Int.random(in: 0...3, using: &random))
            oldestAtEnd = max(oldestAtEnd, ring.numbers?.lowerBound ?? 0)
        }
        let told = pages.reversed().flatMap(\.self)
        #expect(told == Array(Set(told)).sorted(), "seed \(seed)")
        let wanted = all.prefix(known).filter(filter.takes).map(\.sequence)
        #expect(told.filter { $0 >= oldestAtEnd } == wanted.filter { $0 >= oldestAtEnd }, "seed \(seed)")
        #expect(Set(told).isSubset(of: wanted), "seed \(seed)")
    }

    @Test(arguments: [1, 255, 256, 257, 1_000])
    func `are read from any place of the ring, as all of it is read`(limit: Int) {
        var random = SeededGenerator(seed: 7)
        var ring = RecentEvents(limit: limit)
        var all: [LogEvent] = []
        for number in 1...1_300 {
            all.append(Self.event(Int64(number), &random))
            ring.append(all[number - 1])
            guard number % 13 == 0 else { continue }
            let first = Int64.random(in: -5...Int64(number) + 5, using: &random)
            let range = first..<first + Int64.random(in: 0...400, using: &random)
            let maximum = Int.random(in: 0...300, using: &random)
            let kept = all.suffix(limit).filter { range.contains($0.sequence) }.suffix(maximum)
            #expect(ring.events(range, maximum: maximum, boot: "B", process: 71) == Array(kept))
        }
    }

    @Test func `are answered by the agent, of its own start only`() async throws {
        let harness = try await AgentHarness {
            $0.logLevel = "v"
            // The clock stands still.
            $0.limits.intakeRate = 0
        }
        for number in 1...1_700 {
            harness.agent.events.log(number % 100 == 0 ? .error : .info, "Test", "line \(number)")
        }
        func ask(_ id: String, _ fields: String) async throws -> Reply {
            try await harness.command(#"{"id":"\#(id)","type":"replay","since":0,\#(fields)}"#)
        }
        var lines: [String] = []
        var pages = 0
        var before = ""
        repeat {
            let reply = try await ask("a\(pages)", #""query":"tag:Test"\#(before)"#)
            #expect(reply.code == .ok, "\(reply)")
            let result = reply.result
            let events = result["events"]?.arrayValue ?? []
            #expect(events.reduce(0) { $0 + $1.serialized().count } <= 32_768)
            lines = events.compactMap { $0["msg"]?.stringValue } + lines
            before = result["next"].flatMap { $0 == .null ? nil : #","before":\#($0.text)"# } ?? ""
            pages += 1
        } while !before.isEmpty && pages < 1_700
        #expect(lines == (1...1_700).map { "line \($0)" })
        #expect(pages > 3)

        var errors: [String] = []
        (before, pages) = ("", 0)
        repeat {
            let result = try await ask("e\(pages)", #""level":"e","max":7,"query":"tag:Test"\#(before)"#)
                .result
            errors =
                (result["events"]?.arrayValue ?? []).compactMap { $0["msg"]?.stringValue } + errors
            before = result["next"].flatMap { $0 == .null ? nil : #","before":\#($0.text)"# } ?? ""
            pages += 1
        } while !before.isEmpty && pages < 1_700
        #expect(errors == (1...17).map { "line \($0 * 100)" })

        let other = try await ask("other", #""before":{"boot":"another","seq":900}"#).result
        #expect(other["events"]?.arrayValue?.isEmpty == true && other["next"] == JSONValue.null)
        #expect(other["boot"] == .string(harness.agent.events.boot))
        #expect(other["first"]?["seq"] == 1)
        let late = try await ask("late", #""oldest":9999999999999"#).result
        #expect(late["events"]?.arrayValue?.isEmpty == true)
        for (id, fields, code) in [
            ("x1", #""query":"message~:'(a+)+$'""#, 422), ("x2", #""query":"tga:x""#, 422),
            ("x3", #""before":{"seq":1}"#, 422), ("x4", #""before":7"#, 422), ("x5", #""level":"loud""#, 422),
            ("x6", #""query":"\#(String(repeating: "a", count: 1_025))""#, 413), ("x7", #""oldest":-1"#, 422),
        ] {
            let reply = try await ask(id, fields)
            #expect(reply.code.number == code && reply.detail?.isEmpty == false, "\(fields): \(reply)")
        }
        // Asked in the old way, it publishes them again.
        let published = try await ask("old", #""max":3"#).result
        #expect(published["replayed"] == 3 && published["events"] == nil)
        try await harness.close()
    }
}
