import Glibc

/// Whether one group of agents fails more often than another that runs beside it: an e-value, which may be looked at
/// after each event.
///
/// Under the hypothesis that both fail alike its mean is at most 1 at any time, so that it comes to 1 000 in less than
/// one of 1 000 roll-outs, however often it is looked at (a test of a fixed sample promises that for one look only).
struct FailureComparison: Sendable, Hashable {
    /// How many times more often the cohort may fail.
    private static let ratios = [1.5, 2, 3, 5, 10, 30]

    /// Failures in the cohort, and the time that its agents were looked at; only the ratio of the times counts.
    var cohort: (events: Int, exposure: Double) = (0, 0)
    /// The same of the agents that were not chosen.
    var control: (events: Int, exposure: Double) = (0, 0)

    init() {}

    static func == (one: FailureComparison, other: FailureComparison) -> Bool {
        one.cohort == other.cohort && one.control == other.control
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(cohort.events)
        hasher.combine(control.events)
    }

    /// Whether there is something to compare.
    var isConclusive: Bool { cohort.exposure > 0 && control.exposure > 0 }

    /// The e-value; 1 while there is nothing to compare.
    var value: Double {
        guard isConclusive, cohort.events + control.events > 0 else { return 1 }
        let share = cohort.exposure / (cohort.exposure + control.exposure)
        let sum = Self.ratios.reduce(0.0) { sum, ratio in
            let worse = ratio * share / (ratio * share + 1 - share)
            // By logarithms: powers of many events leave the range of numbers.
            let exponent =
                Double(cohort.events) * log(worse / share)
                + Double(control.events) * log((1 - worse) / (1 - share))
            return sum + exp(min(exponent, 600))
        }
        return sum / Double(Self.ratios.count)
    }
}
