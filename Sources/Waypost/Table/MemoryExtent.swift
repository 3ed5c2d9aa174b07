#if canImport(Glibc)
import Glibc
#endif

/// Memory for many pages at once, in the machine's large pages where it has them.
///
/// A table of 100 000 routes spreads over 6 000 pages of the usual 4 KiB, more than a processor remembers the places
/// of: a look-up then waits longer for addresses to be translated than for what lies there.
final class MemoryExtent: @unchecked Sendable {
    /// What the usual large page has; also the alignment.
    static let largePage = 2 << 20

    private let memory: UnsafeMutableRawPointer
    private let capacity: Int
    // Only the one table that fills the extent moves this, before the table is handed on.
    private var used = 0

    /// Memory for at least `byteCount` bytes, not zeroed.
    init(byteCount: Int) {
        capacity = (byteCount + Self.largePage - 1) & ~(Self.largePage - 1)
        memory = .allocate(byteCount: capacity, alignment: Self.largePage)
        #if canImport(Glibc)
        // Advice: where the machine has no large pages, all works without.
        madvise(memory, capacity, MADV_HUGEPAGE)
        #endif
    }

    /// The next `byteCount` bytes, in whole cache lines; nil when they are not there.
    func take(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        let rounded = (byteCount + 63) & ~63
        guard capacity - used >= rounded else { return nil }
        defer { used += rounded }
        return memory + used
    }

    deinit {
        memory.deallocate()
    }
}
