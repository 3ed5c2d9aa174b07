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
}
