/// An array of plain records in pages, of which a changed copy shares all pages but the ones it changed.
///
/// A reader finds record `i` through `directory[i >> shift][i & mask]`: one more load than a flat array, and in
/// return a change to a table of 100 000 routes copies some pages rather than 25 MB.
struct PagedStore<Record: BitwiseCopyable> {
    typealias Directory = UnsafeMutablePointer<UnsafeMutablePointer<Record>>

    static var shift: UInt32 { 9 }
    static var pageCount: Int { 1 << Int(shift) }
    static var mask: UInt32 { UInt32(pageCount - 1) }

    private var pages: [MemoryPage] = []
    private var directoryPage = MemoryPage(byteCount: 64)
    /// Records made so far, those on the list of free ones included.
    private(set) var count: UInt32 = 0

    var directory: Directory {
        directoryPage.memory.assumingMemoryBound(to: UnsafeMutablePointer<Record>.self)
    }

    subscript(index: UInt32) -> Record {
        directory[Int(index >> Self.shift)][Int(index & Self.mask)]
    }

    /// Changes a record in place, after copying its page if another snapshot sees it.
    mutating func update(_ index: UInt32, _ change: (inout Record) -> Void) {
        let page = Int(index >> Self.shift)
        if !isKnownUniquelyReferenced(&pages[page]) {
            replacePage(page, with: MemoryPage(byteCount: pages[page].byteCount, copying: pages[page]))
        }
        change(&directory[page][Int(index & Self.mask)])
    }

    /// Adds a record and returns its index.
    mutating func append(_ record: Record) -> UInt32 {
        let index = count
        let page = Int(index >> Self.shift)
        let inPage = Int(index & Self.mask)
        if page == pages.count {
            // The first page begins small, for most tables are; the others come whole.
            let capacity = page == 0 ? 8 : Self.pageCount
            let memory = MemoryPage(byteCount: capacity * MemoryLayout<Record>.stride)
            pages.append(memory)
            replacePage(page, with: memory)
        } else if (inPage + 1) * MemoryLayout<Record>.stride > pages[page].byteCount {
            let byteCount = min(pages[page].byteCount * 2, Self.pageCount * MemoryLayout<Record>.stride)
            replacePage(page, with: MemoryPage(byteCount: byteCount, copying: pages[page]))
        }
        count += 1
        update(index) { $0 = record }
        return index
    }

    private mutating func replacePage(_ page: Int, with memory: MemoryPage) {
        let needed = (page + 1) * MemoryLayout<UnsafeMutableRawPointer>.stride
        if needed > directoryPage.byteCount {
            directoryPage = MemoryPage(
                byteCount: max(needed, directoryPage.byteCount * 2), copying: directoryPage)
        } else if !isKnownUniquelyReferenced(&directoryPage) {
            directoryPage = MemoryPage(byteCount: directoryPage.byteCount, copying: directoryPage)
        }
        pages[page] = memory
        directory[page] = memory.memory.assumingMemoryBound(to: Record.self)
    }

    /// Moves all pages into an extent.
    mutating func compact(into extent: MemoryExtent) {
        for page in pages.indices { replacePage(page, with: MemoryPage(copying: pages[page], into: extent)) }
    }

    /// The bytes of pages that lie by themselves.
    var scatteredBytes: Int { pages.reduce(0) { $0 + $1.scatteredBytes } }

    /// The bytes this store holds, shared ones included.
    var byteCount: Int {
        pages.reduce(directoryPage.byteCount) { $0 + $1.byteCount }
    }
}
