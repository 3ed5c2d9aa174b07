#if canImport(Glibc)
import Glibc
#endif

/// Memory for many pages at once, in the machine's large pages where it has them.
///
/// A table of 100 000 routes spreads over 6 000 pages of the usual 4 KiB, more than a processor remembers the places
/// of: a look-up then waits longer for addresses to be translated than for what lies there.
final class MemoryExtent: @unchecked Sendable {
    /// What a large page usually has.
    static let largePage = 2 << 20

    private let memory: UnsafeMutableRawPointer
    private let capacity: Int
    // Only the one table that fills the extent moves this, before the table is handed on.
    private var used = 0

    /// Memory for `byteCount` bytes, not zeroed.
    init(byteCount: Int) {
        capacity = byteCount
        memory = .allocate(byteCount: capacity, alignment: 64)
        #if canImport(Glibc)
        // Advice about the whole pages of it: where the machine has no large ones, all works without.
        let page = 4096
        let start = memory.alignedUp(toMultipleOf: page)
        let length = (memory + capacity - start) & ~(page - 1)
        if length > 0 { madvise(start, length, MADV_HUGEPAGE) }
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
