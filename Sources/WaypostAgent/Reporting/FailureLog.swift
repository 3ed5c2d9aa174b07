import Synchronization
import WaypostMessages

/// Counts equal failures together: the first is reported at once, its repetitions as one when the window is over.
final class FailureLog: Sendable {
    /// How long repetitions are counted together, in milliseconds.
    static let window: Int64 = 10_000
    /// Different failures that are watched for repetitions at one time; more are reported one by one.
    static let maximumWatched = 1_000

    private struct Key: Hashable {
        var code: Code
        var room: FailureReport.Room
        var ref: String?
        var url: String?
        var detail: String

        init(_ report: FailureReport) {
            code = report.code
            room = report.room
            ref = report.ref
            url = report.url
            // Of one command, one report a code; without a command, the detail tells failures apart.
            detail = report.ref == nil ? report.detail : ""
        }
    }

    private let watched = Mutex<[Key: FailureReport]>([:])

    /// Takes note of a failure; returns it when it is to be reported now.
    func occurred(_ failure: FailureReport) -> FailureReport? {
        watched.withLock { watched in
            let key = Key(failure)
            if var known = watched[key], failure.last - known.first < Self.window {
                known.count += 1
                known.last = failure.last
                watched[key] = known
                return nil
            }
            if watched.count < Self.maximumWatched { watched[key] = failure }
            return failure
        }
    }

    /// Failures whose window is over and that were repeated in it, each with the count of all its occurrences.
    func windowsOver(at now: Int64) -> [FailureReport] {
        watched.withLock { watched in
            let over = watched.filter { now - $0.value.first >= Self.window }
            for key in over.keys { watched[key] = nil }
            return over.values.filter { $0.count > 1 }.sorted { $0.first < $1.first }
        }
    }

    /// Whether anything is being watched.
    var isEmpty: Bool { watched.withLock(\.isEmpty) }
}
