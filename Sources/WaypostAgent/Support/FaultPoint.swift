import Glibc

/// The places between two durable steps at which a build for tests can be made to die, so that they see every crash.
///
/// `WAYPOST_FAULT=after-store` kills the process with SIGKILL the first time it gets there; `after-store:3` the
/// third time. `WAYPOST_STALL=before-store:1:30000` holds its thread there for 30 s instead, and
/// `WAYPOST_CLOCK_OFFSET` puts the wall clock forward by so many milliseconds, or back; with the path of a file it is
/// the 8 bytes there, so that the clock can step while the agent runs. A release has none of this.
enum FaultPoint: String, CaseIterable {
    case beforeStore = "before-store"
    case afterStore = "after-store"
    case afterAcknowledge = "after-acknowledge"
    case afterDue = "after-due"
    case afterStarted = "after-started"
    case afterHandler = "after-handler"
    case afterResult = "after-result"
    case beforeReplyAcknowledged = "before-reply-acknowledged"

    /// By how much the wall clock must be wrong, in milliseconds.
    @inline(__always)
    static var wallClockOffset: Int64 {
        #if FAULT_POINTS
        clockFile?.load(as: Int64.self) ?? clockOffset
        #else
        0
        #endif
    }

    /// Commands are stored: their acknowledgements leave before the turn of the loop ends.
    static func commandsStored() {
        #if FAULT_POINTS
        if wanted?.point == .afterAcknowledge { areCommandsStored.store(true, ordering: .relaxed) }
        #endif
    }

    /// The loop has written what there was to write.
    static func turnEnded() {
        #if FAULT_POINTS
        if wanted?.point == .afterAcknowledge, areCommandsStored.exchange(false, ordering: .relaxed) {
            afterAcknowledge.reached()
        }
        #endif
    }

    /// Dies here if this is the place and the time.
    func reached() {
        #if FAULT_POINTS
        if let wanted = Self.wanted, wanted.point == self,
            Self.passed.add(1, ordering: .relaxed).newValue >= wanted.time
        {
            kill(getpid(), SIGKILL)
        }
        if let stall = Self.stall, stall.point == self,
            Self.stalled.add(1, ordering: .relaxed).newValue == stall.time
        {
            CurrentThread.sleep(for: .milliseconds(stall.milliseconds))
        }
        #endif
    }
}

#if FAULT_POINTS
import Synchronization
import Threading

extension FaultPoint {
    private static let passed = Atomic<Int>(0)
    private static let stalled = Atomic<Int>(0)
    private static let areCommandsStored = Atomic<Bool>(false)

    private static let wanted = setting("WAYPOST_FAULT").map {
        (point: $0.point, time: $0.numbers.first ?? 1)
    }
    private static let stall = setting("WAYPOST_STALL").map {
        (
            point: $0.point, time: $0.numbers.first ?? 1,
            milliseconds: UInt32($0.numbers.dropFirst().first ?? 0)
        )
    }
    private static let clockOffset =
        getenv("WAYPOST_CLOCK_OFFSET").flatMap { Int64(String(cString: $0)) } ?? 0

    // Safe because it is set once, to a page that is only read and never unmapped.
    private nonisolated(unsafe) static let clockFile: UnsafeRawPointer? = {
        guard let value = getenv("WAYPOST_CLOCK_OFFSET"),
            UInt8(bitPattern: value.pointee) == UInt8(ascii: "/")
        else { return nil }
        let descriptor = open(value, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let page = mmap(nil, 8, PROT_READ, MAP_SHARED, descriptor, 0)
        return page == MAP_FAILED ? nil : UnsafeRawPointer(page)
    }()

    private static func setting(_ name: String) -> (point: FaultPoint, numbers: [Int])? {
        guard let value = getenv(name) else { return nil }
        let parts = String(cString: value).split(separator: ":")
        guard let point = parts.first.flatMap({ FaultPoint(rawValue: String($0)) }) else { return nil }
        return (point, parts.dropFirst().compactMap { Int($0) })
    }
}
#endif
