/// Times for people.
package enum TimeText {
    /// Milliseconds in the largest unit that gives a number people can read: `90 s`, `3 min`, `2 h`, `5 d`.
    package static func span(_ milliseconds: Int64) -> String {
        switch milliseconds / 1000 {
        case ..<120: "\(max(0, milliseconds / 1000)) s"
        case ..<7_200: "\(milliseconds / 60_000) min"
        case ..<172_800: "\(milliseconds / 3_600_000) h"
        default: "\(milliseconds / 86_400_000) d"
        }
    }

    /// How far two clocks are apart, to the nearest of these units: the time to the agent and back is part of what was
    /// measured, and 400 days would be 399 without it.
    package static func difference(_ milliseconds: Int64) -> String {
        let size = Int64(clamping: milliseconds.magnitude)
        let unit: Int64 =
            switch size / 1000 {
            case ..<120: 1_000
            case ..<7_200: 60_000
            case ..<172_800: 3_600_000
            default: 86_400_000
            }
        return span(size.adding(clamping: unit / 2))
    }
}

extension BinaryInteger {
    /// The number and what it counts: `1 entry`, `2 entries`, `3 commands`.
    ///
    /// - Parameter many: what more or fewer than one are called; `one` with an `s` unless it is given.
    package func counted(_ one: String, _ many: String? = nil) -> String {
        "\(self) \(self == 1 ? one : many ?? one + "s")"
    }
}
