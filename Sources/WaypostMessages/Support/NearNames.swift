import Glibc

/// Names close to a missing one, as a person is asked about them.
package enum NearNames {
    /// The names, and the warnings, that are shown; an agent sends fewer.
    package static let maximum = 10

    /// Those of the first names that the detail does not contain: that of a missing route names its neighbours.
    package static func unnamed(_ names: [String], in detail: String) -> [String] {
        // Not by `contains`: among characters it takes seconds for 64 KiB of flags.
        names.prefix(maximum).filter { strstr(detail, $0) == nil }
    }

    /// `; did you mean A or B?`; empty without names.
    package static func question(_ names: [String]) -> String {
        names.isEmpty ? "" : "; did you mean \(names.joined(separator: " or "))?"
    }
}
