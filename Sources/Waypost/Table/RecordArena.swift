/// Records of any length, one behind the other in pages; none crosses a page.
///
/// A reference is the page's number and the offset in it, and 0 is none. Records are added and never taken out: the
/// table is built anew when too many are dead.
struct RecordArena {
    static let pageShift: UInt32 = 16
    static let pageBytes = 1 << 16
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

    /// Adds a copy of a record of at most 65 000 bytes, which may be changed until the next one is added.
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
        if let source = record.baseAddress {
            self[reference].copyMemory(from: source, byteCount: record.count)
        }
        return reference
    }

    /// Frees the space for more records.
    mutating func trim() { memory.trim(to: used) }

    /// Changes what begins at a reference, after copying its page if another snapshot sees it.
    mutating func update<Record>(
        _ reference: UInt32, as type: Record.Type, _ change: (inout Record) -> Void
    ) {
        memory.prepare(Int(reference >> Self.pageShift))
        change(&self[reference].assumingMemoryBound(to: type).pointee)
    }

    /// Calls `body` with each record in the order in which they came, until it returns nil for its length.
    func forEach(_ body: (UInt32) -> Int?) {
        for page in memory.pages.indices {
            let end = memory.pages[page].byteCount
            var offset = Self.firstOffset
            while offset + MemoryLayout<RouteRecord>.stride <= end,
                let length = body(UInt32(page) << Self.pageShift | UInt32(offset))
            {
                guard length > 0 else { break }
                offset += (length + 7) & ~7
            }
        }
    }
}
