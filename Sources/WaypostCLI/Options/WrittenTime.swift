import Glibc
import Waypost
import WaypostMessages

/// What is wrong with a time that someone wrote.
struct TimeFault: Error, CustomStringConvertible {
    let description: String
}

/// A moment as people write it, and in every form in which this program prints one.
///
/// - `18:40`, `18:40:00`, `18:40:00.123`: the last one of that hour.
/// - `11-20 23:16:39.123`, as in the log: the last one of that day.
/// - `2026-11-20 23:16:39.123`; with `T` in the place of the space as well. Without a time of day: its midnight.
/// - Each of these in another zone: `… Z`, `… +0000`, `…+01:00`. Without a zone it is local time. Of an hour that the end
///   of summer time repeats, the first one is taken, so that nothing is missed.
/// - `20261120-231639`, as in names of files: UTC.
/// - `1795216999123`, `1795216999`, `1795216999.123`: milliseconds and seconds since 1970, from ten digits on.
struct WrittenTime {
    typealias Zone = LocalZone.Offset

    /// The zone of this machine.
    static let local: Zone = LocalZone.system

    /// What is written of the day.
    private enum Day {
        case latest
        case ofYear(month: Int32, day: Int32)
        case dated(year: Int32, month: Int32, day: Int32)
        case since1970
    }

    private let text: String
    private var day: Day
    /// Of the day; of 1970 where nothing is written of it.
    private var seconds: Int64 = 0
    private var milliseconds: Int64 = 0
    /// Ahead of UTC, in seconds; nil for local time.
    private var offset: Int64?

    /// - Throws: ``TimeFault`` naming the part that is wrong.
    init(_ text: String) throws(TimeFault) {
        self.text = text
        if let moment = Self.sinceEpoch(text) {
            (day, seconds, milliseconds, offset) = (.since1970, moment / 1_000, moment % 1_000, 0)
            return
        }
        var (date, clock) = (Substring(), text[...])
        if let mark = text.firstIndex(where: { $0 == " " || $0 == "T" || $0 == "t" }),
            text[..<mark].contains("-"), !text[..<mark].contains(":")
        {
            (date, clock) = (text[..<mark], text[mark...].dropFirst())
        } else if let compact = Self.compact(text) {
            (date, clock, offset) = (compact.date[...], compact.clock[...], 0)
        } else if text.utf8.count == 10, text.split(separator: "-").count == 3, !text.contains(":") {
            (date, clock) = (text[...], "00:00")
        }
        if let zone = clock.firstIndex(where: { "+-Zz ".contains($0) }) {
            offset = try Self.offset(clock[zone...], in: text)
            clock = clock[..<zone]
        }
        day = date.isEmpty ? .latest : try Self.day(date, in: text)
        (seconds, milliseconds) = try Self.clock(clock, in: text)
    }

    /// The moment, in milliseconds since 1970: the newest that is not after `now` where a part of the day is missing.
    ///
    /// - Throws: ``TimeFault`` for a local time that the beginning of summer time leaves out, and for one before 1970.
    func moment(now: Int64, local: @escaping Zone = WrittenTime.local) throws(TimeFault) -> Int64 {
        let zone: Zone = if let offset { { _ in offset } } else { local }
        let today = Self.parts(now / 1_000 + zone(now / 1_000))
        let candidates: [Int64?]
        switch day {
        case .since1970: candidates = [0]
        case .dated(let year, let month, let day): candidates = [Self.midnight(year, month, day)]
        case .ofYear(let month, let day):
            // The 29th of February may be eight years back.
            candidates = (0...8).map { Self.midnight(today.tm_year + 1_900 - $0, month, day) }
        case .latest:
            let first = Self.midnight(today.tm_year + 1_900, today.tm_mon + 1, today.tm_mday)
            candidates = (0...2).map { back in first.map { $0 - Int64(back) * 86_400 } }
        }
        let moments = candidates.lazy.compactMap { $0.flatMap { Self.first($0 + seconds, in: zone) } }
            .map { $0 * 1_000 + milliseconds }
        switch day {
        case .latest, .ofYear:
            if let moment = moments.first(where: { (0...now).contains($0) }) { return moment }
        case .dated, .since1970:
            if let moment = moments.first, moment >= 0 { return moment }
        }
        throw fault("there is no such time here: the clock was set forward (daylight saving)")
    }

    // MARK: Reading

    private func fault(_ why: String) -> TimeFault { Self.fault(text, why) }

    private static func fault(_ text: String, _ why: String) -> TimeFault {
        TimeFault(description: "\(text.quoted): \(why)")
    }

    /// What a time looks like.
    private static let forms =
        "write a span such as 10m, or a time such as 18:40, 11-20 23:16:39.123, 2026-11-20T23:16:39Z or 1795216999123"

    /// A number with so many digits; nil for anything else.
    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int64? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }

    private static func numbers(_ text: Substring, _ separator: Character) -> [Int64]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        let numbers = parts.compactMap { number($0, digits: 1...4) }
        return numbers.count == parts.count ? numbers : nil
    }

    /// Milliseconds or seconds since 1970; seconds from 2001 on, as shorter numbers are spans.
    private static func sinceEpoch(_ text: String) -> Int64? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let whole = number(parts[0], digits: 10...13) else { return nil }
        guard Timestamp.looksLikeSeconds(whole) else { return parts.count == 1 ? whole : nil }
        guard let fraction = parts.count == 1 ? 0 : self.fraction(parts[1]) else { return nil }
        return whole * 1_000 + fraction
    }

    /// `20261120-231639`.
    private static func compact(_ text: String) -> (date: String, clock: String)? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, number(parts[0], digits: 8...8) != nil,
            number(parts[1], digits: 6...6) != nil
        else { return nil }
        func part(_ text: Substring, _ start: Int, _ length: Int) -> Substring {
            text.dropFirst(start).prefix(length)
        }
        let (date, clock) = (parts[0], parts[1])
        return (
            "\(part(date, 0, 4))-\(part(date, 4, 2))-\(part(date, 6, 2))",
            "\(part(clock, 0, 2)):\(part(clock, 2, 2)):\(part(clock, 4, 2))"
        )
    }

    private static func day(_ date: Substring, in text: String) throws(TimeFault) -> Day {
        guard let numbers = numbers(date, "-"), (2...3).contains(numbers.count) else {
            throw fault(text, forms)
        }
        // Without a year the 29th of February is a day: there is one that had it.
        let year = numbers.count == 3 ? Int32(numbers[0]) : 2_000
        let (month, day) = (Int32(numbers[numbers.count - 2]), Int32(numbers[numbers.count - 1]))
        guard year >= 1_970 else { throw fault(text, "the year must be 1970 to 9999") }
        guard (1...12).contains(month) else { throw fault(text, "there is no month \(month)") }
        guard midnight(year, month, day) != nil else { throw fault(text, "there is no day \(date)") }
        return numbers.count == 3
            ? .dated(year: year, month: month, day: day) : .ofYear(month: month, day: day)
    }

    private static func clock(_ clock: Substring, in text: String) throws(TimeFault) -> (Int64, Int64) {
        // Parts of a second, as adb prints them.
        let parts = clock.split(separator: ".", omittingEmptySubsequences: false)
        guard let first = parts.first, let numbers = numbers(first, ":"), (2...3).contains(numbers.count),
            parts.count == 1 || parts.count == 2 && numbers.count == 3,
            let fraction = parts.count == 1 ? 0 : fraction(parts[1])
        else { throw fault(text, forms) }
        let seconds = numbers.count == 3 ? numbers[2] : 0
        guard numbers[0] <= 23, numbers[1] <= 59, seconds <= 59 else {
            throw fault(
                text, "there is no time of day \(first); hours are 0 to 23, minutes and seconds 0 to 59")
        }
        return (numbers[0] * 3_600 + numbers[1] * 60 + seconds, fraction)
    }

    /// The first three of up to nine digits: milliseconds.
    private static func fraction(_ digits: Substring) -> Int64? {
        guard number(digits, digits: 1...9) != nil else { return nil }
        return Int64(digits.prefix(3) + String(repeating: "0", count: max(0, 3 - digits.count)))
    }

    /// Of `Z`, `+01:00`, `+0100` or `+01`, in seconds.
    private static func offset(_ zone: Substring, in text: String) throws(TimeFault) -> Int64 {
        let zone = zone.first == " " ? zone.dropFirst() : zone
        if zone == "Z" || zone == "z" { return 0 }
        let digits = zone.dropFirst().filter { $0 != ":" }
        guard zone.first == "+" || zone.first == "-", [3, 5, 6].contains(zone.utf8.count),
            (zone.utf8.count == 6) == (zone.dropFirst(3).first == ":"),
            let hours = number(digits.prefix(2), digits: 2...2),
            let minutes = digits.count == 2 ? 0 : number(digits.dropFirst(2), digits: 2...2)
        else { throw fault(text, forms) }
        guard hours <= 23, minutes <= 59 else { throw fault(text, "there is no zone \(zone)") }
        return (hours * 3_600 + minutes * 60) * (zone.first == "-" ? -1 : 1)
    }

    // MARK: Reckoning

    /// The day's begin in UTC, in seconds since 1970; nil when there is no such day.
    private static func midnight(_ year: Int32, _ month: Int32, _ day: Int32) -> Int64? {
        var date = tm()
        (date.tm_year, date.tm_mon, date.tm_mday) = (year - 1_900, month - 1, day)
        let seconds = Int64(timegm(&date))
        // What the calendar does not have is moved to another day.
        let found = parts(seconds)
        return (found.tm_mon, found.tm_mday) == (month - 1, day) ? seconds : nil
    }

    private static func parts(_ seconds: Int64) -> tm {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        return parts
    }

    /// The first moment at which clocks in the zone show what they show in UTC at `reading`; nil when they never do.
    private static func first(_ reading: Int64, in zone: Zone) -> Int64? {
        // A zone changes at most once within a day.
        ([-86_400, 0, 86_400] as [Int64]).compactMap { distance in
            let offset = zone(reading + distance)
            return zone(reading - offset) == offset ? reading - offset : nil
        }.min()
    }
}
