import Glibc

/// The places between two durable steps at which a debug build can be made to die, so that tests see every crash.
///
/// `WAYPOST_FAULT=after-store` kills the process with SIGKILL the first time it gets there; `after-store:3` the
/// third time. A release build has none of this.
enum FaultPoint: String, CaseIterable {
    case beforeStore = "before-store"
    case afterStore = "after-store"
    case afterAcknowledge = "after-acknowledge"
    case afterStarted = "after-started"
    case afterHandler = "after-handler"
    case afterResult = "after-result"
    case beforeReplyAcknowledged = "before-reply-acknowledged"

    /// Commands are stored: their acknowledgements leave before the turn of the loop ends.
    static func commandsStored() {
        #if DEBUG
        if wanted?.point == .afterAcknowledge { areCommandsStored.store(true, ordering: .relaxed) }
        #endif
    }

    /// The loop has written what there was to write.
    static func turnEnded() {
        #if DEBUG
        if wanted?.point == .afterAcknowledge, areCommandsStored.exchange(false, ordering: .relaxed) {
            afterAcknowledge.reached()
        }
        #endif
    }

    /// Dies here if this is the place and the time.
    func reached() {
        #if DEBUG
        guard let wanted = Self.wanted, wanted.point == self else { return }
        if Self.count.add(1, ordering: .relaxed).newValue >= wanted.time { kill(getpid(), SIGKILL) }
        #endif
    }
}

#if DEBUG
import Synchronization

extension FaultPoint {
    private static let count = Atomic<Int>(0)
    private static let areCommandsStored = Atomic<Bool>(false)

    private static let wanted: (point: FaultPoint, time: Int)? = {
        guard let value = getenv("WAYPOST_FAULT") else { return nil }
        let parts = String(cString: value).split(separator: ":")
        guard let name = parts.first, let point = FaultPoint(rawValue: String(name)) else { return nil }
        return (point, parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
    }()
}
#endif
