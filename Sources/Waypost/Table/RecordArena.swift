/// Records of any length, one behind the other in pages; none crosses a page.
///
/// A reference is the page's number and the offset in it, and 0 is none. Records are added and never taken out.
struct RecordArena {
    private static let pageShift: UInt32 = 16
    private static let pageBytes = 1 << 16
    private static let firstOffset = 8

    private var memory = PagedMemory()
    private var used = Self.pageBytes

    var directory: PagedMemory.Directory { memory.directory }
    var byteCount: Int { memory.byteCount }

    /// Where a record begins.
    @inline(__always)
    static func pointer(_ reference: UInt32, in directory: PagedMemory.Directory) -> UnsafeMutableRawPointer {
        directory[Int(reference >> pageShift)] + Int(reference & 0xffff)
    }

    subscript(reference: UInt32) -> UnsafeMutableRawPointer { Self.pointer(reference, in: directory) }

    /// Whether that can be where a record begins.
    func has(_ reference: UInt32) -> Bool {
        let (page, offset) = (Int(reference >> Self.pageShift), Int(reference & 0xffff))
        guard offset >= Self.firstOffset, offset & 7 == 0, page < memory.pages.count else { return false }
        return offset + MemoryLayout<RouteRecord>.stride <= memory.pages[page].byteCount
    }

    /// Adds a copy of a record of at most 65 000 bytes.
    mutating func append(_ record: UnsafeRawBufferPointer) -> UInt32 {
        let byteCount = (record.count + 7) & ~7
        if used + byteCount > Self.pageBytes {
            // The first page begins small, for most tables are.
            memory.append(byteCount: memory.pages.isEmpty ? 1024 : Self.pageBytes)
            used = Self.firstOffset
        }
        let page = memory.pages.count - 1
        let size = memory.pages[page].byteCount
        let needed = used + byteCount
        memory.prepare(page, byteCount: needed > size ? min(Self.pageBytes, max(2 * size, needed)) : 0)
        let reference = UInt32(page) << Self.pageShift | UInt32(used)
        used = needed
        UnsafeMutableRawBufferPointer(start: self[reference], count: record.count).copyMemory(from: record)
        return reference
    }

    /// Frees the space for more records.
    mutating func trim() { memory.trim(to: used) }

    /// Changes a record, after copying its page if another snapshot sees it.
    mutating func update(_ reference: UInt32, _ change: (inout RouteRecord) -> Void) {
        memory.prepare(Int(reference >> Self.pageShift))
        change(&self[reference].assumingMemoryBound(to: RouteRecord.self).pointee)
    }

    /// Where each record begins, in the order in which they came.
    var all: some Sequence<UnsafeRawPointer> {
        sequence(state: (page: 0, offset: Self.firstOffset)) { next in
            while next.page < memory.pages.count {
                let page = memory.pages[next.page]
                if next.offset + MemoryLayout<RouteRecord>.stride <= page.byteCount {
                    let start = UnsafeRawPointer(page.memory) + next.offset
                    let byteCount = RouteRecordPointer(memory: start).header.pointee.byteCount
                    next.offset += (byteCount + 7) & ~7
                    // What was never written has no steps.
                    if byteCount > RouteRecord.stepsOffset { return start }
                }
                next = (next.page + 1, Self.firstOffset)
            }
            return nil
        }
    }
}
