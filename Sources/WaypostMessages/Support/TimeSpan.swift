/// A span of time as it is typed and printed: `500ms`, `10s`, `1.5h`, `10 min`; a bare number is seconds.
package struct TimeSpan: Sendable, Hashable, CustomStringConvertible {
    private static let units: [(suffix: String, milliseconds: Double)] = [
        // `ms` before `s`, which also ends it.
        ("ms", 1), ("s", 1_000), ("min", 60_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    /// A year: nothing here lasts longer, and sums stay far from any overflow.
    private static let longest = 366 * 86_400_000.0

    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Nil when the text is no number with a unit, negative, or longer than a year.
    package init?(argument: String) {
        let unit = Self.units.first { argument.hasSuffix($0.suffix) }
        var number = argument.dropLast(unit?.suffix.count ?? 0)
        if unit != nil, number.last == " " { number.removeLast() }
        // Double also reads `inf`, `nan` and hexadecimal digits.
        guard !number.isEmpty, number.allSatisfy({ $0.isASCII && $0.isNumber || $0 == "." }),
            let value = Double(number)
        else { return nil }
        let milliseconds = (value * (unit?.milliseconds ?? 1_000)).rounded()
        guard milliseconds <= Self.longest else { return nil }
        self.milliseconds = Int64(milliseconds)
    }

    package static func seconds(_ seconds: Int64) -> TimeSpan { TimeSpan(milliseconds: seconds * 1_000) }
    package static func minutes(_ minutes: Int64) -> TimeSpan { TimeSpan(milliseconds: minutes * 60_000) }

    package var duration: Duration { .milliseconds(milliseconds) }

    /// In the largest unit that leaves a whole number: `10 min`, `90 s`, `500 ms`.
    package var description: String {
        let units: [(Int64, String)] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")]
        for (length, name) in units where milliseconds >= length && milliseconds % length == 0 {
            return "\(milliseconds / length) \(name)"
        }
        return milliseconds == 0 ? "0 s" : "\(milliseconds) ms"
    }
}
