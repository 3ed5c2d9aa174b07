import Waypost
import WaypostLab

/// The figures of a run, for people and for programs.
struct BenchReport {
    var tally: BenchTally
    var agent: String
    /// Commands without a reply are lost, unless the run was interrupted.
    var isWhole: Bool

    var lost: Int { tally.unsent + (isWhole ? tally.open : 0) }
    var isFlawless: Bool { lost == 0 && tally.duplicates == 0 }

    private static let quantiles: [(name: String, share: Double)] = [
        ("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999),
    ]

    func lines(_ style: Style) -> [TerminalText] {
        var lines: [TerminalText] = [
            """
            \(agent): \(tally.sent) sent, \(tally.answered) answered, \(tally.ok) ok, \
            \(Int(tally.throughput.rounded())) commands/s
            """
        ]
        if tally.measured > 0 {
            let figures = Self.quantiles.map {
                "\($0.name) \(milliseconds(tally.histogram.quantile($0.share)))"
            }
            lines.append(
                "latency: \(figures.joined(separator: ", ")), max \(milliseconds(tally.histogram.maximum))")
        }
        let flaws: TerminalText = "\(lost) lost, \(tally.duplicates) duplicates"
        lines.append(isFlawless ? style.green(flaws) : style.red(flaws))
        if !isWhole && tally.open > 0 {
            lines.append("\(tally.open) had no reply when the run was interrupted")
        }
        for (name, count) in tally.errors.sorted(by: { $0.key < $1.key }) {
            lines.append(style.yellow("\(count) × \(name)"))
        }
        return lines
    }

    /// Latencies in microseconds.
    var json: JSONValue {
        var latency: [String: JSONValue] = ["max": .int(tally.histogram.maximum)]
        for (name, share) in Self.quantiles { latency[name] = .int(tally.histogram.quantile(share)) }
        return [
            "agent": .string(agent), "sent": .int(Int64(tally.sent)), "answered": .int(Int64(tally.answered)),
            "ok": .int(Int64(tally.ok)), "lost": .int(Int64(lost)),
            "duplicates": .int(Int64(tally.duplicates)),
            "open": .int(Int64(isWhole ? 0 : tally.open)), "perSecond": .double(tally.throughput.rounded()),
            "latencyMicroseconds": .object(latency),
            "errors": .object(tally.errors.mapValues { .int(Int64($0)) }),
        ]
    }

    private func milliseconds(_ microseconds: Int64) -> String {
        let hundredths = (microseconds + 5) / 10
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest) ms"
    }
}
