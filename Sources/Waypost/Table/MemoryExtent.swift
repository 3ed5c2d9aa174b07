#if canImport(Glibc)
import Glibc
#endif

/// Memory for many pages at once, in the machine's large pages where it has them.
///
/// A table of 100 000 routes spreads over 6 000 pages of the usual 4 KiB, more than a processor remembers the places
/// of: a look-up then waits longer for addresses to be translated than for what lies there.
///
/// Safe to send because only the one table that fills it takes memory from it, before that table is handed on.
final class MemoryExtent: @unchecked Sendable {
    /// What a large page usually has.
    static let largePage = 2 << 20

    private let memory: UnsafeMutableRawPointer
    private let capacity: Int
    /// Whether the memory is mapped by us; if not, it is the allocator's.
    private let isMapped: Bool
    private var used = 0

    /// Memory for `byteCount` bytes.
    init(byteCount: Int) {
        let page = Self.pageSize
        capacity = (byteCount + page - 1) / page * page
        if let mapped = Self.map(capacity) {
            memory = mapped
            isMapped = true
        } else {
            memory = .allocate(byteCount: capacity, alignment: 64)
            isMapped = false
        }
    }

    // What munmap wants lengths to be whole numbers of.
    private static var pageSize: Int {
        #if canImport(Glibc)
        return Int(getpagesize())
        #else
        return 4096
        #endif
    }

    /// Fresh memory that begins where a large page does.
    ///
    /// The allocator would hand out what was used before, in small pages that stay small.
    private static func map(_ length: Int) -> UnsafeMutableRawPointer? {
        #if canImport(Glibc)
        guard
            let start = mmap(
                nil, length + largePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            start != MAP_FAILED
        else { return nil }
        let aligned = start.alignedUp(toMultipleOf: largePage)
        let before = aligned - start
        if before > 0 { munmap(start, before) }
        munmap(aligned + length, largePage - before)
        // Where the machine has no large ones, all works without.
        madvise(aligned, length, MADV_HUGEPAGE)
        return aligned
        #else
        return nil
        #endif
    }

    /// Whether what is taken is zeroed: memory that the system maps is.
    var isZeroed: Bool { isMapped }

    /// The next `byteCount` bytes, in whole cache lines; nil when they are not there.
    func take(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        let rounded = (byteCount + 63) & ~63
        guard capacity - used >= rounded else { return nil }
        defer { used += rounded }
        return memory + used
    }

    deinit {
        #if canImport(Glibc)
        if isMapped {
            munmap(memory, capacity)
            return
        }
        #endif
        memory.deallocate()
    }
}
