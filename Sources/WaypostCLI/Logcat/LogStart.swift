import ArgumentParser
import Glibc
import WaypostMessages

/// Where the log begins: so long ago, or at a time, `18:40`, `11-22 18:40:00.000`, `2026-11-22 18:40`.
enum LogStart: ExpressibleByArgument, Sendable, Hashable, CustomStringConvertible {
    case span(TimeSpan)
    /// In milliseconds since 1970.
    case time(Int64)

    init?(argument: String) { self.init(argument: argument, now: WallClock.now()) }

    /// Nil when it is neither a span nor a time.
    ///
    /// A time without a day is the last one of that hour, one without a year the last one of that day.
    init?(argument: String, now: Int64) {
        if let span = TimeSpan(argument: argument) {
            self = .span(span)
            return
        }
        guard let time = Self.read(argument, now) else { return nil }
        self = .time(time)
    }

    /// The whole numbers between the separators; nil when there is anything else, or another count of them.
    private static func numbers(_ text: Substring, _ separator: Character, _ counts: ClosedRange<Int>)
        -> [Int32]?
    {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            (1...4).contains(part.utf8.count) && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
                ? Int32(part) : nil
        }
        return counts.contains(parts.count) && numbers.count == parts.count ? numbers : nil
    }

    private static func read(_ text: String, _ now: Int64) -> Int64? {
        let words = text.split { $0 == " " || $0 == "T" }
        guard (1...2).contains(words.count), let clock = words.last else { return nil }
        // Parts of a second, as adb prints them.
        let pieces = clock.split(separator: ".", omittingEmptySubsequences: false)
        guard let hours = numbers(pieces[0], ":", 2...3), pieces.count <= 2, hours[0] < 24, hours[1] < 60,
            hours.count == 2 || hours[2] <= 60,
            let fraction = pieces.count == 1 ? 0 : milliseconds(pieces[1])
        else { return nil }
        var seconds = time_t(now / 1_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (hours[0], hours[1], hours.count > 2 ? hours[2] : 0)
        var hasYear = false
        if words.count == 2 {
            guard var date = numbers(words[0], "-", 2...3) else { return nil }
            if date.count == 3 {
                hasYear = true
                parts.tm_year = date.removeFirst() - 1_900
            }
            guard (1...12).contains(date[0]), (1...31).contains(date[1]) else { return nil }
            (parts.tm_mon, parts.tm_mday) = (date[0] - 1, date[1])
        }
        func time() -> Int64? {
            var copy = parts
            // Whether it is summer time is up to the system.
            copy.tm_isdst = -1
            let seconds = mktime(&copy)
            return seconds < 0 ? nil : Int64(seconds) * 1_000 + fraction
        }
        guard let first = time(), first > now, !hasYear else { return time() }
        // A time in the future is meant as the last one in the past.
        if words.count == 2 { parts.tm_year -= 1 } else { parts.tm_mday -= 1 }
        return time()
    }

    private static func milliseconds(_ digits: Substring) -> Int64? {
        guard (1...9).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(digits.prefix(3) + String(repeating: "0", count: max(0, 3 - digits.count)))
    }

    /// In milliseconds since 1970.
    func milliseconds(before now: Int64 = WallClock.now()) -> Int64 {
        switch self {
        case .span(let span): max(0, now - span.milliseconds)
        case .time(let time): max(0, time)
        }
    }

    /// For a sentence: `10 min`, `2026-11-22 18:40:00`.
    var description: String {
        switch self {
        case .span(let span): span.description
        case .time(let time): Timestamp.local(time)
        }
    }
}

/// Which of the past lines are shown.
struct LogPast: Sendable {
    /// Nil for all that the agents still have.
    var start: LogStart?
    /// Only so many, the newest.
    var last: Int?

    static let everything = LogPast()

    init(start: LogStart? = nil, last: Int? = nil) {
        self.start = start
        self.last = last
    }

    /// As `-t` and `-T` of adb have it: a number of lines, or a time.
    init?(argument: String) {
        if let count = Int(argument) {
            guard count > 0 else { return nil }
            last = count
        } else {
            guard let start = LogStart(argument: argument) else { return nil }
            self.start = start
        }
    }
}

extension LogPast: ExpressibleByArgument {}
