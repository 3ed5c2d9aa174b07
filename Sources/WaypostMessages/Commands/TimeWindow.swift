import Glibc
package import Waypost

/// Days and times of day at which a command may begin: `mon-fri 22:00-04:00`, `sat,sun 02:00-04:00 utc`, `02:00-04:00`.
///
/// A window that ends no later than it begins goes on into the next day. Where clocks are set forward, the times that are
/// left out do not come, and where they are set back, those that come twice are twice in it.
package struct TimeWindow: Sendable, Hashable, CustomStringConvertible {
    private static let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    private static let day: Int64 = 86_400
    private static let week: Int64 = 7 * day
    /// What a window looks like.
    package static let form =
        "write days and times such as mon-fri 22:00-04:00, sat,sun 02:00-04:00 utc or 02:00-04:00"
    /// The longest text of one.
    private static let maximumBytes = 64

    /// The days on which it begins, from Monday, which is 0.
    private let days: Set<Int>
    /// In minutes of the day: from 0, and up to 1 440.
    private let (begin, end): (Int64, Int64)
    private let isUTC: Bool

    /// - Throws: ``Failure`` 422 `BAD_FIELD` saying what is wrong.
    package init(_ text: String) throws(Failure) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw Failure(.badField, "a window has at most \(Self.maximumBytes) bytes; \(Self.form)")
        }
        var words = text.lowercased().split(separator: " ", omittingEmptySubsequences: false)[...]
        let zone = ["utc", "local"].contains(words.last) ? words.popLast() : nil
        guard let times = words.popLast(), words.count <= 1 else { throw Self.fault(text) }
        let parts = times.split(separator: "-", omittingEmptySubsequences: false).map(Self.minutes)
        guard parts.count == 2, let begin = parts[0], let end = parts[1], begin < 1_440 else {
            throw Self.fault(text)
        }
        guard begin != end else {
            throw Failure(.badField, "window \(text.quoted) is empty; a whole day is 00:00-24:00")
        }
        guard let days = words.first.map(Self.days) ?? Set(Self.names.indices) else {
            throw Self.fault(text)
        }
        (self.days, self.begin, self.end, isUTC) = (days, begin, end, zone == "utc")
    }

    private static func fault(_ text: String) -> Failure {
        Failure(.badField, "window \(text.quoted) is none; \(form)")
    }

    /// Of `22:00`, of the day.
    private static func minutes(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let hour = Int64(parts[0]), let minute = Int64(parts[1]), minute < 60
        else { return nil }
        let minutes = hour * 60 + minute
        return minutes <= 1_440 ? minutes : nil
    }

    /// Of `mon-fri,sun`.
    private static func days(_ text: Substring) -> Set<Int>? {
        var days: Set<Int> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map {
                names.firstIndex(of: String($0))
            }
            guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil else {
                return nil
            }
            // From Saturday to Monday goes over the end of the week.
            days.formUnion((0...(last - first + 7) % 7).map { (first + $0) % 7 })
        }
        return days
    }

    /// As it is read again.
    package var description: String {
        func time(_ minutes: Int64) -> String {
            [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
        }
        let names = days.count == 7 ? "" : days.sorted().map { Self.names[$0] }.joined(separator: ",") + " "
        return "\(names)\(time(begin))-\(time(end))\(isUTC ? " utc" : "")"
    }

    // MARK: When it is open

    /// The first time from a moment on at which it is open, in milliseconds since 1970: from now where it is open now.
    ///
    /// - Parameters:
    ///   - horizon: What comes later is not looked for, and cut off.
    ///   - zone: The agent's.
    func opening(from moment: Int64, until horizon: Int64, _ zone: LocalZone.Offset) -> Range<Int64>? {
        let (from, until) = (moment / 1_000, horizon / 1_000 + 1)
        guard let begin = next(true, from: from, until: until, zone), begin * 1_000 < horizon else {
            return nil
        }
        let end = next(false, from: begin, until: until, zone) ?? until
        let (first, last) = (max(moment, begin * 1_000), min(horizon, end * 1_000))
        return first < last ? first..<last : nil
    }

    /// The first second from a moment on at which it is open, or closed.
    private func next(_ isOpen: Bool, from moment: Int64, until end: Int64, _ zone: LocalZone.Offset)
        -> Int64?
    {
        var time = moment
        while time < end {
            let offset = isUTC ? 0 : zone(time)
            guard let left = untilChange(to: isOpen, at: time + offset) else { return time }
            // Clocks may be set before that.
            time = isUTC ? time + left : Self.firstChange(of: offset, from: time, upTo: time + left, zone)
        }
        return nil
    }

    /// The first second at which clocks are set, if there is one up to `end`; `end` otherwise.
    private static func firstChange(
        of offset: Int64, from time: Int64, upTo end: Int64, _ zone: LocalZone.Offset
    ) -> Int64 {
        guard zone(end) != offset else { return end }
        var (before, after) = (time, end)
        while after - before > 1 {
            let middle = before + (after - before) / 2
            if zone(middle) == offset { before = middle } else { after = middle }
        }
        return after
    }

    /// How many seconds of local time are left until it opens, or closes; nil when it is so now.
    private func untilChange(to isOpen: Bool, at local: Int64) -> Int64? {
        let minutes = end > begin ? end - begin : end + 1_440 - begin
        var toOpen = Self.week
        var toClose: Int64?
        for day in days {
            // 1970 began on a Thursday.
            let since = (local + 3 * Self.day - Int64(day) * Self.day - begin * 60) % Self.week
            let into = since < 0 ? since + Self.week : since
            if into < minutes * 60 { toClose = max(toClose ?? 0, minutes * 60 - into) }
            toOpen = min(toOpen, Self.week - into)
        }
        if isOpen { return toClose == nil ? toOpen : nil }
        return toClose
    }
}

/// The zone of this machine.
package enum LocalZone {
    /// How many seconds clocks are ahead of UTC, at a moment in seconds since 1970.
    package typealias Offset = @Sendable (_ moment: Int64) -> Int64

    /// As the system is set.
    package static let system: Offset = { moment in
        var seconds = time_t(moment)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return Int64(parts.tm_gmtoff)
    }
}
