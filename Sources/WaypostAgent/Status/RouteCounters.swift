import Metrics
import Threading
import Waypost

/// How opens ended and how long they took, by the route that took them.
final class RouteCounters: Sendable {
    /// The most routes that are counted alone: what has no bound makes metrics unusable.
    static let maximumRoutes = 200
    /// The most routes in health: those with the most failures, then those with the most opens.
    static let shownRoutes = 20
    /// All routes beyond ``maximumRoutes``; no pattern is written like this.
    static let others = "(others)"

    /// What was counted of one route.
    private struct Counts {
        let meters: Meters
        var opened: Int64 = 0
        var failed: Int64 = 0
        var intercepted: Int64 = 0
        /// The opens that took less than 2^index microseconds, and not less than half of that.
        var durations = [Int64](repeating: 0, count: 32)

        init(_ meters: Meters) { self.meters = meters }

        mutating func add(_ opening: Opening) {
            switch opening.outcome {
            case .opened, .served, .fellBack:
                opened += 1
                meters.opened.increment()
            case .intercepted:
                intercepted += 1
                meters.intercepted.increment()
            case .notFound, .rejected, .failed:
                failed += 1
                meters.failed.increment()
            }
            let microseconds = max(0, opening.duration / .microseconds(1))
            // An open of a century is not shown as one.
            let whole = UInt32(min(microseconds, Double(UInt32.max >> 1)))
            durations[UInt32.bitWidth - whole.leadingZeroBitCount] += 1
            meters.duration.recordMicroseconds(Int64(whole))
        }

        /// In milliseconds: at least this part of the opens took no longer; rounded up to a power of two in microseconds.
        func quantile(_ part: Double) -> Double {
            let wanted = Int64((Double(durations.reduce(0, +)) * part).rounded(.up))
            var count: Int64 = 0
            let index = durations.firstIndex {
                count += $0
                return count >= wanted
            }
            return Double(1 << (index ?? 0)) / 1_000
        }
    }

    /// The counters and the timer of one route, for the backend that the process has for swift-metrics.
    private struct Meters {
        let opened: Counter
        let failed: Counter
        let intercepted: Counter
        let duration: Timer

        init(_ labels: [(String, String)]) {
            func counter(_ result: String) -> Counter {
                Counter(label: "waypost_opens_total", dimensions: labels + [("result", result)])
            }
            opened = counter("opened")
            failed = counter("failed")
            intercepted = counter("intercepted")
            duration = Timer(label: "waypost_open_seconds", dimensions: labels)
        }
    }

    private let agent: String
    private let redaction: Redaction
    private let routes = Guarded<[String: Counts]>([:])

    init(agent: String, redaction: Redaction = Redaction()) {
        self.agent = agent
        self.redaction = redaction
    }

    /// Counts one open; one that no route took counts for the route "".
    func count(_ opening: Opening) {
        routes.withLock { routes in
            var route = opening.route ?? ""
            if routes[route] == nil, routes.count >= Self.maximumRoutes { route = Self.others }
            routes[route, default: Counts(Meters(labels(of: route)))].add(opening)
        }
    }

    /// The labels of a route's meters: who collects metrics sees them.
    func labels(of route: String) -> [(String, String)] {
        [("agent", agent), ("route", redaction.masked(route))]
    }

    /// The routes of health: `[{"route","opened","failed","intercepted","ms":{"p50","p99"}}]`.
    var json: [JSONValue] {
        let sorted = routes.withLock { $0 }.sorted { one, other in
            let (left, right) = (one.value, other.value)
            return (left.failed + left.intercepted, left.opened, other.key)
                > (right.failed + right.intercepted, right.opened, one.key)
        }
        return sorted.prefix(Self.shownRoutes).map { route, counts in
            [
                "route": .string(route), "opened": .int(counts.opened), "failed": .int(counts.failed),
                "intercepted": .int(counts.intercepted),
                "ms": ["p50": .double(counts.quantile(0.5)), "p99": .double(counts.quantile(0.99))],
            ]
        }
    }
}
