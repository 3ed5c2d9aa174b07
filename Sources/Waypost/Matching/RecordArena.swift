/// Records of any length, one behind the other in pages; none crosses a page.
///
/// A reference is the page's number and the offset in it, and 0 is none. Records are added and never taken out.
struct RecordArena {
    private static let pageShift: UInt32 = 16
    private static let pageBytes = 1 << 16
    private static let firstOffset = 8

    private var memory = PagedMemory()
    private var used = 0

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

    /// Adds a copy of a record of at most 65 000 bytes, which may have a page of its own.
    mutating func append(_ record: UnsafeRawBufferPointer) -> UInt32 {
        let byteCount = (record.count + 7) & ~7
        if used + byteCount > memory.pages.last?.byteCount ?? 0 {
            used = Self.firstOffset
            // The first page is small, for most tables are.
            let usual = memory.pages.isEmpty ? 1 << 12 : Self.pageBytes
            memory.append(byteCount: max(usual, used + byteCount))
        }
        let page = memory.pages.count - 1
        memory.prepare(page)
        let reference = UInt32(page) << Self.pageShift | UInt32(used)
        used += byteCount
        UnsafeMutableRawBufferPointer(start: self[reference], count: record.count).copyMemory(from: record)
        return reference
    }

    /// Frees the space for more records.
    mutating func trim() {
        if !memory.pages.isEmpty { memory.resize(memory.pages.count - 1, to: used) }
    }

    /// Changes a record, after copying its page if another snapshot sees it.
    mutating func update(_ reference: UInt32, _ change: (inout RouteRecord) -> Void) {
        memory.prepare(Int(reference >> Self.pageShift))
        change(&self[reference].assumingMemoryBound(to: RouteRecord.self).pointee)
    }

    /// The records of all routes, in the order in which they came.
    var routes: some Sequence<RouteRecordPointer> {
        memory.pages.lazy.flatMap { page in
            sequence(state: Self.firstOffset) { offset -> RouteRecordPointer? in
                guard offset + MemoryLayout<RouteRecord>.stride <= page.byteCount else { return nil }
                let record = RouteRecordPointer(memory: page.memory + offset)
                offset += (record.header.pointee.byteCount + 7) & ~7
                return record
            }
        }.filter { $0.header.pointee.isRoute }
    }
}
