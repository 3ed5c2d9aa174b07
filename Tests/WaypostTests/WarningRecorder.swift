import Synchronization

@testable import Waypost

/// Collects the warnings of a router.
final class WarningRecorder: Sendable {
    private let events = Mutex<[RouterEvent]>([])

    var warnings: [String] { events.withLock { $0.filter { $0.kind == .warned }.map(\.detail) } }

    func take(_ event: RouterEvent) { events.withLock { $0.append(event) } }
}
