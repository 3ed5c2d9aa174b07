import Glibc
import Waypost

/// Returns the time, and waits.
struct ClockService: Sendable {
    struct BadDuration: Error, CustomStringConvertible {
        var description: String { "ms must be 0 to 86400000, a day" }
    }

    /// Milliseconds since 1970.
    func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Waits until it is over or cancelled; returns how long.
    func sleep(ms: Int64) async throws -> Int64 {
        guard (0...86_400_000).contains(ms) else { throw BadDuration() }
        try await Task.sleep(for: .milliseconds(ms))
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
