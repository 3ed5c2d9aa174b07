import Testing
import Waypost

@testable import WaypostMessages

/// When a window is open; Berlin's clocks of 2026 are set forward on March 29 and back on October 25, at 01:00 UTC.
@Suite struct `A window of times` {
    private static let berlin: LocalZone.Offset = { moment in
        (1_774_746_000..<1_792_890_000).contains(moment) ? 7_200 : 3_600
    }
    private static let utc: LocalZone.Offset = { _ in 0 }
    private static let hour: Int64 = 3_600_000

    /// Of a time in UTC, `2026-03-29 01:00`.
    private static func time(_ text: String) throws -> Int64 {
        let parts = text.split { "- :".contains($0) }.compactMap { Int64($0) }
        try #require(parts.count == 5)
        // Days of the civil calendar since 1970.
        let (year, month) = parts[1] <= 2 ? (parts[0] - 1, parts[1] + 9) : (parts[0], parts[1] - 3)
        let days =
            365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + parts[2] - 719_469
        return (days * 86_400 + parts[3] * 3_600 + parts[4] * 60) * 1_000
    }

    private static func text(_ opening: Range<Int64>?) -> String {
        guard let opening else { return "never" }
        return [opening.lowerBound, opening.upperBound].map { Timestamp.rfc3339($0).prefix(16).dropFirst(5) }
            .joined(separator: " to ")
    }

    @Test(arguments: [
        // 2026-11-25 is a Wednesday.
        ("02:00-04:00 utc", "2026-11-25 01:00", "11-25T02:00 to 11-25T04:00"),
        ("02:00-04:00 utc", "2026-11-25 02:00", "11-25T02:00 to 11-25T04:00"),
        ("02:00-04:00 utc", "2026-11-25 03:59", "11-25T03:59 to 11-25T04:00"),
        ("02:00-04:00 utc", "2026-11-25 04:00", "11-26T02:00 to 11-26T04:00"),
        ("mon 02:00-04:00 utc", "2026-11-25 04:00", "11-30T02:00 to 11-30T04:00"),
        ("wed 02:00-04:00 utc", "2026-11-25 04:00", "12-02T02:00 to 12-02T04:00"),
        ("fri-mon 22:00-04:00 utc", "2026-11-25 00:00", "11-27T22:00 to 11-28T04:00"),
        // From the evening of a day into the next, which is none of its days.
        ("sun 22:00-04:00 utc", "2026-11-30 03:00", "11-30T03:00 to 11-30T04:00"),
        ("sun 22:00-04:00 utc", "2026-11-30 04:00", "12-06T22:00 to 12-07T04:00"),
        ("22:00-00:00 utc", "2026-11-25 00:00", "11-25T22:00 to 11-26T00:00"),
        // Days that follow each other are one window.
        ("sat,sun 00:00-24:00 utc", "2026-11-25 00:00", "11-28T00:00 to 11-30T00:00"),
        ("00:00-24:00", "2026-11-25 00:00", "11-25T00:00 to 12-05T00:00"),
        ("18:00-18:30", "2026-11-25 18:00", "11-26T17:00 to 11-26T17:30"),
        ("18:00-18:30", "2026-07-25 16:10", "07-25T16:10 to 07-25T16:30"),
        // Clocks go from 02:00 to 03:00: what is left out does not come, and the rest is shorter.
        ("02:15-02:45", "2026-03-28 23:00", "03-30T00:15 to 03-30T00:45"),
        ("02:30-03:30", "2026-03-28 23:00", "03-29T01:00 to 03-29T01:30"),
        ("01:30-02:30", "2026-03-28 23:00", "03-29T00:30 to 03-29T01:00"),
        ("sun 02:15-02:45", "2026-03-28 23:00", "04-05T00:15 to 04-05T00:45"),
        // And from 03:00 back to 02:00: the hour comes twice.
        ("02:15-02:45", "2026-10-24 23:00", "10-25T00:15 to 10-25T00:45"),
        ("02:15-02:45", "2026-10-25 00:45", "10-25T01:15 to 10-25T01:45"),
        ("01:30-02:30", "2026-10-24 23:00", "10-24T23:30 to 10-25T00:30"),
        ("01:30-02:30", "2026-10-25 00:30", "10-25T01:00 to 10-25T01:30"),
        ("02:30-03:30", "2026-10-24 23:00", "10-25T00:30 to 10-25T01:00"),
    ])
    func `opens and closes by the clocks of its zone`(window: String, now: String, expected: String) throws {
        let now = try Self.time(now)
        let opening = try TimeWindow(window).opening(from: now, until: now + 240 * Self.hour, Self.berlin)
        #expect(Self.text(opening) == expected)
    }

    @Test func `is not looked for beyond the end of the command`() throws {
        let window = try TimeWindow("02:00-04:00 utc")
        let now = try Self.time("2026-11-25 04:00")
        #expect(window.opening(from: now, until: now + 22 * Self.hour, Self.utc) == nil)
        let cut = window.opening(from: now, until: now + 22 * Self.hour + 1, Self.utc)
        #expect(cut == now + 22 * Self.hour..<now + 22 * Self.hour + 1)
        for now in [0, Fields.latestTime] as [Int64] {
            #expect(window.opening(from: now, until: now, Self.utc) == nil)
        }
    }

    @Test func `is what a walk through all minutes finds, over both changes of a year`() throws {
        for text in ["02:15-02:45", "sat,sun 01:30-03:30", "sun 22:00-02:30", "mon-fri 08:00-17:00 utc"] {
            let window = try TimeWindow(text)
            for start in ["2026-03-28 00:00", "2026-10-24 00:00"] {
                let start = try Self.time(start)
                // Backwards, so that the next begin is known.
                var known: Int64?
                let last = start + 72 * Self.hour
                for minute in stride(from: last, through: start, by: -60_000) {
                    let isOpen = window.opening(from: minute, until: minute + 1_000, Self.berlin) != nil
                    if isOpen { known = minute }
                    guard let known else { continue }
                    let found = window.opening(from: minute, until: last + 1_000, Self.berlin)
                    guard found?.lowerBound == known else {
                        Issue.record("\(text) at \(minute): \(Self.text(found)), and it opens at \(known)")
                        return
                    }
                }
            }
        }
    }

    @Test(arguments: [
        ("02:00-04:00", "02:00-04:00"), ("mon-sun 02:00-04:00 local", "02:00-04:00"),
        ("MON,wed 22:00-24:00 UTC", "mon,wed 22:00-24:00 utc"),
        ("sat-mon 00:00-24:00", "mon,sat,sun 00:00-24:00"),
    ])
    func `is written as it is read`(text: String, expected: String) throws {
        #expect(try TimeWindow(text).description == expected)
        #expect(try TimeWindow(expected) == TimeWindow(text))
    }

    @Test(arguments: [
        "", " ", "02:00", "2:00-4:00", "02:00-25:00", "02:60-03:00", "24:00-02:00", "24:30-02:00",
        "02:00-02:00",
        "mon", "mo 02:00-04:00", "mon- 02:00-04:00", "mon-tue-wed 02:00-04:00", ",mon 02:00-04:00",
        "mon 02:00-04:00 cet", "mon  02:00-04:00", "02:00-04:00-06:00", "0٢:00-04:00",
        "mon 02:00-04:00 utc utc",
        "-1:00-04:00", "02:00-04:00\n", String(repeating: "mon,", count: 100) + "tue 02:00-04:00",
    ])
    func `that can't be read is refused with what one looks like`(text: String) {
        let failure = #expect(throws: Failure.self) { try TimeWindow(text) }
        #expect(
            failure?.code == .badField && failure?.detail.contains("02:00-04:00") == true
                || text == "02:00-02:00")
    }
}
