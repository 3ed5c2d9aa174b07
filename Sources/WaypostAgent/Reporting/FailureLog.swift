import Threading
import Waypost
import WaypostMessages

/// Counts equal failures together: the first is reported at once, its repetitions as one when the window is over.
final class FailureLog: Sendable {
    /// How long repetitions are counted together, in milliseconds.
    static let window: Int64 = 10_000
    /// Different failures that are watched for repetitions at one time; more are reported one by one.
    private let maximumWatched: Int

    private struct Key: Hashable {
        var code: Code
        var sender: String?
        var origin: FailureReport.Origin
        var ref: String?
        var url: String?
        var detail: String

        init(_ report: FailureReport) {
            code = report.code
            sender = report.sender
            origin = report.origin
            ref = report.ref
            url = report.url
            // Of one command, one report per code; without a command, the detail distinguishes failures.
            detail = report.ref == nil ? report.detail : ""
        }
    }

    private struct Watched {
        var report: FailureReport
        /// How many of its occurrences are reported.
        var said: Int64

        init(_ report: FailureReport) { (self.report, said) = (report, report.count) }

        var hasMore: Bool { report.count > said }
    }

    private let watched = Guarded<[Key: Watched]>([:])

    init(limit: Int) { maximumWatched = limit }

    /// Takes note of a failure; returns what must be reported now.
    ///
    /// That is nothing for a repetition within the window; otherwise the failure, after the count of the window
    /// before it when that was not reported yet.
    func occurred(_ failure: FailureReport) -> [FailureReport] {
        watched.withLock { watched in
            let key = Key(failure)
            let known = watched[key]
            if var known, Self.isOpen(known.report, at: failure.last) {
                known.report.count += failure.count
                known.report.last = failure.last
                watched[key] = known
                return []
            }
            if known != nil || watched.count < maximumWatched { watched[key] = Watched(failure) }
            return [known].compactMap { $0 }.filter(\.hasMore).map(\.report) + [failure]
        }
    }

    /// Failures whose window is over and that were repeated in it, each with the count of all its occurrences.
    ///
    /// - Parameter now: nil when there is no later, because the agent stops: all windows are over then.
    func windowsOver(at now: Int64?) -> [FailureReport] {
        watched.withLock { watched in
            let over = watched.filter { entry in
                now.map { !Self.isOpen(entry.value.report, at: $0) } ?? true
            }
            for key in over.keys { watched[key] = nil }
            return over.values.filter(\.hasMore).map(\.report).sorted { $0.first < $1.first }
        }
    }

    /// A clock that was set back ends the window as well; otherwise the failure would be held back for as long.
    private static func isOpen(_ failure: FailureReport, at now: Int64) -> Bool {
        let (age, overflow) = now.subtractingReportingOverflow(failure.first)
        return !overflow && (0..<window).contains(age)
    }

    /// Whether anything is being watched.
    var isEmpty: Bool { watched.withLock(\.isEmpty) }
}
