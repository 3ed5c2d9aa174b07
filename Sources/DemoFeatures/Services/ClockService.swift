import Threading
import Waypost

/// Returns the time, and waits.
struct ClockService: Sendable {
    struct BadDuration: Error, CustomStringConvertible {
        var description: String { "ms must be 0 to 86400000, a day" }
    }

    /// Milliseconds since 1970.
    func now() -> Int64 { WallClock.now() }

    /// Waits until it is over or cancelled; returns how long.
    func sleep(ms: Int64) async throws -> Int64 {
        guard (0...86_400_000).contains(ms) else { throw BadDuration() }
        let begin = MonotonicTime.instant
        var left = ms
        while left > 0 {
            // A second at a time, so that its sender sees how far it is.
            try await MonotonicTime.sleep(for: .milliseconds(min(left, 1_000)))
            left = ms - (MonotonicTime.instant - begin).milliseconds
            if left > 0 { HandlerProgress.report(Double(ms - left) / Double(ms), "sleeping") }
        }
        return ms
    }
}

extension ClockService {
    static let exposed = ExposedService("ClockService", make: { ClockService() }) {
        Exposed("now()", idempotent: true) { (service: ClockService) in service.now() }
        Exposed("sleep(ms:)", idempotent: true) { (service: ClockService, ms: Int64) in
            try await service.sleep(ms: ms)
        }
    }
}
