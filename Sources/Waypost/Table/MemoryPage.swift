/// A block of raw memory with an owner, so that snapshots of a table can share it until one of them changes it.
///
/// Safe to send because it is written only while `isKnownUniquelyReferenced` says that no one else can see it.
final class MemoryPage: @unchecked Sendable {
    let memory: UnsafeMutableRawPointer
    let byteCount: Int

    /// A block that begins with what `other` holds; the rest is zero.
    init(byteCount: Int, copying other: MemoryPage? = nil) {
        let common = min(byteCount, other?.byteCount ?? 0)
        self.byteCount = byteCount
        memory = .allocate(byteCount: byteCount, alignment: 64)
        if let other { memory.copyMemory(from: other.memory, byteCount: common) }
        (memory + common).initializeMemory(as: UInt8.self, repeating: 0, count: byteCount - common)
    }

    deinit { memory.deallocate() }
}

/// Memory in pages, of which a changed copy shares all but those it changed.
///
/// A reader finds a page through the directory: one more load than in one piece, and in return a change to a table of
/// 100 000 routes copies some pages rather than 20 MB.
struct PagedMemory {
    typealias Directory = UnsafeMutablePointer<UnsafeMutableRawPointer>

    private(set) var pages: [MemoryPage] = []
    private var directoryPage = MemoryPage(byteCount: 64)

    var directory: Directory {
        directoryPage.memory.assumingMemoryBound(to: UnsafeMutableRawPointer.self)
    }

    /// Adds a page of zeros.
    mutating func append(byteCount: Int) {
        let page = MemoryPage(byteCount: byteCount)
        pages.append(page)
        replace(pages.count - 1, with: page)
    }

    /// Makes sure that no one else sees a page, and that it has at least so many bytes.
    mutating func prepare(_ page: Int, byteCount: Int = 0) {
        if byteCount <= pages[page].byteCount, isKnownUniquelyReferenced(&pages[page]) { return }
        let byteCount = max(byteCount, pages[page].byteCount)
        replace(page, with: MemoryPage(byteCount: byteCount, copying: pages[page]))
    }

    /// Frees what lies behind so many bytes of the last page.
    mutating func trim(to byteCount: Int) {
        guard let last = pages.last, byteCount < last.byteCount else { return }
        replace(pages.count - 1, with: MemoryPage(byteCount: byteCount, copying: last))
    }

    private mutating func replace(_ page: Int, with new: MemoryPage) {
        let needed = (page + 1) * MemoryLayout<UnsafeMutableRawPointer>.stride
        if needed > directoryPage.byteCount || !isKnownUniquelyReferenced(&directoryPage) {
            let byteCount = needed > directoryPage.byteCount ? 2 * needed : directoryPage.byteCount
            directoryPage = MemoryPage(byteCount: byteCount, copying: directoryPage)
        }
        pages[page] = new
        directory[page] = new.memory
    }

    /// The bytes of all pages, shared ones included.
    var byteCount: Int { pages.reduce(directoryPage.byteCount) { $0 + $1.byteCount } }
}
