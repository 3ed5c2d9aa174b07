import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI

/// Every time that is printed is understood when it is given back.
@Suite struct WrittenTimeTests {
    /// With half an hour of summer time, whole days that were left out, and odd offsets among them.
    private static let zones = [
        "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns",
        "Asia/Kathmandu", "Pacific/Apia", "Africa/Casablanca",
    ]

    /// A form in which a time is written: how precise it is, in milliseconds, and the text.
    private struct Form: Sendable {
        let name: String
        var precision: Int64 = 1
        /// Whether it names its zone, so that the local one does not matter.
        var hasZone = false
        var hasYear = true
        let text: @Sendable (_ time: Int64, _ zone: TimeZone) -> String
    }

    private static func parts(_ time: Int64, _ offset: Int64) -> (DateComponents, String, String) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let date = Date(timeIntervalSince1970: Double(time / 1_000 + offset))
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        func two(_ number: Int?) -> String { String(String((number ?? 0) + 100).dropFirst()) }
        return (
            parts, "\(two(parts.month))-\(two(parts.day))",
            "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second))"
        )
    }

    private static func fraction(_ time: Int64) -> String { String(String(time % 1_000 + 1_000).dropFirst()) }

    /// `form` in the place of the day, the clock, the year, the milliseconds and the offset.
    private static func written(_ time: Int64, _ offset: Int64, _ form: String) -> String {
        let (parts, day, clock) = parts(time, offset)
        let sign = offset < 0 ? "-" : "+"
        let (hours, minutes) = (abs(offset) / 3_600, abs(offset) / 60 % 60)
        func two(_ number: Int64) -> String { String(String(number + 100).dropFirst()) }
        return form.replacing("YEAR", with: "\(parts.year ?? 0)").replacing("DAY", with: day)
            .replacing("CLOCK", with: clock).replacing("MS", with: fraction(time))
            .replacing("ZONE", with: "\(sign)\(two(hours)):\(two(minutes))")
            .replacing("OFF", with: "\(sign)\(two(hours))\(two(minutes))")
    }

    private static func offset(_ time: Int64, _ zone: TimeZone) -> Int64 {
        Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time / 1_000))))
    }

    private static func form(
        _ name: String, _ text: String, precision: Int64 = 1, hasZone: Bool = false, hasYear: Bool = true
    ) -> Form {
        Form(name: name, precision: precision, hasZone: hasZone, hasYear: hasYear) { time, zone in
            written(time, offset(time, zone), text)
        }
    }

    private static let forms: [Form] = [
        form("threadtime", "DAY CLOCK.MS", hasYear: false),
        form("-v year", "YEAR-DAY CLOCK.MS"),
        form("in a sentence", "YEAR-DAY CLOCK", precision: 1_000),
        form("ISO 8601, local", "YEAR-DAYTCLOCK.MS"),
        form("ISO 8601 with its zone", "YEAR-DAYTCLOCK.MSZONE", hasZone: true),
        form("with a numeric zone", "YEAR-DAY CLOCK.MS OFF", hasZone: true),
        form("threadtime with its zone", "DAY CLOCK.MS OFF", hasZone: true, hasYear: false),
        Form(name: "-v UTC", hasZone: true, hasYear: false) { time, _ in
            Timestamp.threadTime(time, isUTC: true)
        },
        Form(name: "-v UTC -v year", hasZone: true) { time, _ in
            Timestamp.threadTime(time, isUTC: true, hasYear: true)
        },
        Form(name: "RFC 3339", hasZone: true) { time, _ in Timestamp.rfc3339(time) },
        Form(name: "a file's name", precision: 1_000, hasZone: true) { time, _ in Timestamp.compact(time) },
        Form(name: "milliseconds", hasZone: true) { time, _ in "\(time)" },
        Form(name: "seconds", precision: 1_000, hasZone: true) { time, _ in "\(time / 1_000)" },
        Form(name: "seconds with a fraction", hasZone: true) { time, _ in
            "\(time / 1_000).\(fraction(time))"
        },
    ]

    /// Random moments from 2001 on, and those around changes of the zone's clocks.
    private static func moments(_ zone: TimeZone, _ random: inout SeededGenerator) -> [Int64] {
        (0..<60).flatMap { _ -> [Int64] in
            let time = Int64.random(in: 1_000_000_000_000...2_100_000_000_000, using: &random)
            let date = Date(timeIntervalSince1970: Double(time / 1_000))
            guard let change = zone.nextDaylightSavingTimeTransition(after: date) else { return [time] }
            let moment = Int64(change.timeIntervalSince1970) * 1_000
            return [time]
                + (0..<6).map { _ in moment + Int64.random(in: -9_000_000...9_000_000, using: &random) }
        } + [951_782_400_123 + 86_400_000 * 366 * 4]  // 2004-02-29 or the day beside it.
    }

    @Test(arguments: zones)
    func `a time is the same when it is given back, in every form and zone`(_ name: String) throws {
        let zone = try #require(TimeZone(identifier: name))
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        var repeated = 0
        for time in Self.moments(zone, &random) {
            for form in Self.forms {
                let text = form.text(time, zone)
                // The first of two moments at which the clocks show the same.
                let earlier = [1_800, 3_600, 7_200].first { distance in
                    Self.offset(time - distance * 1_000, zone) == Self.offset(time, zone) + distance
                }
                if earlier != nil { repeated += 1 }
                let first = form.hasZone ? time : time - (earlier ?? 0) * 1_000
                let now = time + Int64.random(in: 0...300 * 86_400_000, using: &random)
                let start = try LogStart(text, now: now) { moment in Self.offset(moment * 1_000, zone) }
                #expect(
                    start == .time(first - first % form.precision),
                    "\(form.name) \(text.debugDescription) of \(time) at \(now), seed \(seed)")
            }
        }
        if name == "Europe/Berlin" { #expect(repeated > 0) }
    }

    @Test(arguments: 0..<200)
    func `what is printed in this machine's zone is understood`(_ number: Int) throws {
        let time = 1_000_000_000_000 + Int64(number) * 7_919_000_123
        for text in [Timestamp.threadTime(time, hasYear: true), Timestamp.threadTime(time)] {
            let found = try WrittenTime(text).moment(now: time + 86_400_000)
            #expect(Timestamp.threadTime(found) == Timestamp.threadTime(time))
            #expect(found <= time && time - found <= 7_200_000)
        }
    }

    @Test func `without a year it is the newest day of the past, the 29th of February in a leap year`() throws
    {
        func time(_ text: String, at now: String) throws -> String {
            let now = try WrittenTime(now).moment(now: 0)
            return Timestamp.rfc3339(
                try WrittenTime(text + "Z").moment(now: now))
        }
        #expect(
            try time("02-29 12:00", at: "2027-03-01T00:00:00Z") == "2024-02-29T12:00:00.000Z")
        #expect(
            try time("02-29 12:00", at: "2024-02-29T12:00:00Z") == "2024-02-29T12:00:00.000Z")
        #expect(
            try time("02-29 12:00", at: "2024-02-29T11:59:59Z") == "2020-02-29T12:00:00.000Z")
        #expect(
            try time("12-31 23:59:59.999", at: "2026-01-01T00:00:00Z") == "2025-12-31T23:59:59.999Z")
        #expect(try time("01-01 00:00", at: "2026-01-01T00:00:00Z") == "2026-01-01T00:00:00.000Z")
        #expect(try time("00:00:01", at: "2026-03-01T00:00:00Z") == "2026-02-28T00:00:01.000Z")
        // A day alone is its beginning.
        #expect(try LogStart("2026-02-28", now: 1_795_217_000_000) { _ in 0 } == .time(1_772_236_800_000))
    }

    @Test(
        arguments: [
            ("2026-02-30 10:00", "there is no day 2026-02-30"),
            ("2026-02-30", "there is no day 2026-02-30"), ("2026-13-01", "there is no month 13"),
            ("2025-02-29 10:00", "there is no day 2025-02-29"),
            ("02-30 10:00", "there is no day 02-30"), ("2026-04-31T10:00Z", "there is no day 2026-04-31"),
            ("2026-13-01 10:00", "there is no month 13"), ("2026-00-01 10:00", "there is no month 0"),
            ("11-00 10:00", "there is no day 11-00"), ("24:61", "there is no time of day 24:61"),
            ("24:00", "there is no time of day 24:00"), ("23:59:60", "there is no time of day 23:59:60"),
            ("10:00+24:00", "there is no zone +24:00"), ("1969-12-31 10:00", "the year must be 1970 to 9999"),
            ("20260230-101112", "there is no day 2026-02-30"), ("yesterday", "write a span such as 10m"),
            ("11-22", "write a span"), ("10:00+1", "write a span"),
            ("2026-03-29 02:30", "there is no such time here: the clock was set forward (daylight saving)"),
        ])
    func `a time that does not exist is refused, and what does not exist is named`(
        _ text: String, _ fault: String
    ) throws {
        let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
        let error = try #require(throws: TimeFault.self) {
            try LogStart(text, now: 1_795_217_000_000) { moment in Self.offset(moment * 1_000, berlin) }
        }
        #expect(error.description.hasPrefix("\(text.debugDescription): \(fault)"), "\(error)")
    }

    @Test(arguments: [("10 min", 600_000), ("90 s", 90_000), ("3 min ago", 180_000), ("5 d", 432_000_000)])
    func `spans are understood as they are printed`(_ text: String, _ milliseconds: Int64) throws {
        #expect(try LogStart(text) == .ago(.milliseconds(milliseconds)))
    }

    @Test func `a number is one of lines, and from ten digits on a time`() throws {
        #expect(try LogRequest.Past("700") == LogRequest.Past(last: 700))
        #expect(try LogRequest.Past("1795216999123") == LogRequest.Past(start: .time(1_795_216_999_123)))
        #expect(throws: TimeFault.self) { try LogRequest.Past("0") }
    }

    @Test(.aFewAtATime, .timeLimit(.minutes(60)), arguments: ["America/New_York", "Australia/Lord_Howe"])
    func `the times of the program's own lines are understood by it`(_ zone: String) async throws {
        let site = try await Site.open()
        _ = try await site.run("open", "scheme://router/user/5", "--agent", "k1")
        func run(_ arguments: [String]) async throws -> RunningCommand.Ending {
            try await CommandProcess.run(
                arguments, environment: ["WAYPOST_BROKER": site.broker.url, "TZ": zone])
        }
        for form in [[], ["-v", "year"], ["-v", "UTC"], ["-v", "UTC", "-v", "year"], ["--json"]] {
            let lines = try await run(["replay", "--agent", "k1", "--tag", "Router"] + form).output
            let line = try #require(lines.last)
            let time: String
            if form == ["--json"] {
                time = try "\(JSONValue(parsing: line)["t"]?.intValue ?? 0)"
            } else {
                let written = #/^[0-9-]+ [0-9:.]+( \+0000)?/#
                time = try String(#require(line.firstMatch(of: written)).0)
            }
            let since = try await run(["replay", "--agent", "k1", "--tag", "Router", "--since", time] + form)
            #expect(since.status == 0 && since.output.last == line, "\(form) \(time): \(since)")
        }
        let wrong = try await run(["replay", "--agent", "k1", "--since", "2026-02-30 10:00"])
        #expect(wrong.status == 64)
        #expect(
            wrong.errorLines.first?.contains("there is no day 2026-02-30") == true, "\(wrong.errorLines)")
        #expect(try await site.agent.terminate() == 0)
    }
}
