import CoreMetrics
import Synchronization
import Threading
import Waypost

/// Keeps what the process counts and times, and writes it in Prometheus' text form.
final class MetricRegistry: MetricsFactory, Sendable {
    /// A name with its labels: one line, or the lines of one histogram.
    private struct Key: Hashable {
        var name: String
        var labels: String
    }

    /// Beyond this, further series are not kept: labels must not come from outside without a bound.
    private static let maximumSeries = 1_000

    /// What each metric counts, by name.
    private let help: [String: String]
    private let counters = Guarded<[Key: Count]>([:])
    private let gauges = Guarded<[Key: Gauge]>([:])
    private let timers = Guarded<[Key: Histogram]>([:])

    init(help: [String: String]) { self.help = help }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, in: counters) { Count() }
    }

    func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        series(label, dimensions, in: gauges) { Gauge() }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions, in: timers) { Histogram() }
    }

    // What has a handle is counted as long as the process lives, as Prometheus wants it.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    private func series<Series>(
        _ label: String, _ dimensions: [(String, String)], in known: borrowing Guarded<[Key: Series]>,
        _ make: () -> Series
    ) -> Series {
        let labels = dimensions.map { "\(PrometheusText.name($0.0))=\"\(PrometheusText.value($0.1))\"" }
        let key = Key(name: PrometheusText.name(label), labels: labels.joined(separator: ","))
        return known.withLock { known in
            if let series = known[key] { return series }
            let series = make()
            if known.count < Self.maximumSeries { known[key] = series }
            return series
        }
    }

    /// Everything, as `text/plain; version=0.0.4`.
    var text: String {
        var text = PrometheusText()
        for (name, series) in Self.grouped(counters.withLock { $0 }) {
            text.begin(name, "counter", help: help[name])
            for (key, count) in series { text.add(name, key.labels, String(count.value)) }
        }
        for (name, series) in Self.grouped(gauges.withLock { $0 }) {
            text.begin(name, "gauge", help: help[name])
            for (key, level) in series { text.add(name, key.labels, PrometheusText.number(level.value)) }
        }
        for (name, series) in Self.grouped(timers.withLock { $0 }) {
            text.begin(name, "histogram", help: help[name])
            for (key, histogram) in series { text.add(name, key.labels, histogram.snapshot) }
        }
        return text.text
    }

    private static func grouped<Series>(_ all: [Key: Series]) -> [(String, [(Key, Series)])] {
        Dictionary(grouping: all, by: \.key.name).sorted { $0.key < $1.key }.map { name, series in
            (name, series.map { ($0.key, $0.value) }.sorted { $0.0.labels < $1.0.labels })
        }
    }
}

/// A number that only rises.
private final class Count: CounterHandler, Sendable {
    private let number = Atomic<Int64>(0)
    var value: Int64 { number.load(ordering: .relaxed) }
    func increment(by amount: Int64) { number.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { number.store(0, ordering: .relaxed) }
}

/// A number that was last recorded.
private final class Gauge: RecorderHandler, Sendable {
    private let bits = Atomic<UInt64>(0)
    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }
    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }
}

/// Durations by size.
private final class Histogram: TimerHandler, Sendable {
    private let state = Guarded(DurationCounts())
    var snapshot: DurationCounts { state.withLock { $0 } }
    func recordNanoseconds(_ duration: Int64) { state.withLock { $0.add(Double(duration) / 1e9) } }
}

/// How many durations were at most so long, in seconds.
struct DurationCounts: Sendable {
    static let bounds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    private(set) var counts = [Int64](repeating: 0, count: bounds.count)
    private(set) var count: Int64 = 0
    private(set) var sum: Double = 0

    mutating func add(_ seconds: Double) {
        count += 1
        sum += seconds
        // Each bucket holds what the smaller ones hold.
        for (index, bound) in Self.bounds.enumerated().reversed() {
            guard seconds <= bound else { break }
            counts[index] += 1
        }
    }
}
