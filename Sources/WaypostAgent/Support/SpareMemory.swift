import CMemory
import Threading

/// Says when memory that nothing uses any more goes back to the system.
///
/// That is in the first pause after the start, and in the first one after much work; after that once more, when the
/// threads that did it have ended, with what each had kept for itself. The allocator keeps what is freed, for it may be
/// wanted soon again, and code stays mapped that ran once; on a device that then idles for hours, other processes can
/// use the memory.
struct SpareMemory {
    private static let muchWork = 1_000
    /// In milliseconds, longer than a thread stays that has nothing to do.
    private static let untilOnceMore: Int64 = 30_000
    private var seen: Int?
    private var released: Int?
    private var onceMore: Int64?

    /// Whether memory must be released now, which is true once per pause; called at regular times.
    ///
    /// - Parameters:
    ///   - changes: ``Store/changeCount``. Not the number of commits: under load one holds hundreds of commands.
    ///   - now: on the monotonic clock, in milliseconds.
    mutating func takeRelease(afterChanges changes: Int, at now: Int64) -> Bool {
        defer { seen = changes }
        guard changes == seen else { return false }
        if let released, (changes - released).magnitude < Self.muchWork {
            guard let time = onceMore, now >= time else { return false }
            onceMore = nil
            return true
        }
        onceMore = released == nil ? nil : now + Self.untilOnceMore
        released = changes
        return true
    }

    /// Gives back to the system what the allocator has to spare, and the code that only the start or much work needed.
    static func release() {
        releaseHeap()
        if Scheduling.isOfSystem { waypost_release_program() }
    }

    /// Gives back to the system what the allocator has to spare.
    static func releaseHeap() { if Scheduling.isOfSystem { waypost_release_heap() } }
}
