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
    /// The bytes of all pages, shared ones included.
    var byteCount: Int { pages.reduce(directoryPage.byteCount) { $0 + $1.byteCount } }

    /// Adds a page of zeros.
    mutating func append(byteCount: Int) {
        pages.append(MemoryPage(byteCount: byteCount))
        enter(pages.count - 1)
    }

    /// Makes sure that no one else sees a page.
    mutating func prepare(_ page: Int) {
        if !isKnownUniquelyReferenced(&pages[page]) { resize(page, to: pages[page].byteCount) }
    }

    /// Puts a copy of other length in the place of a page.
    mutating func resize(_ page: Int, to byteCount: Int) {
        pages[page] = MemoryPage(byteCount: byteCount, copying: pages[page])
        enter(page)
    }

    private mutating func enter(_ page: Int) {
        let space = directoryPage.byteCount
        let needed = (page + 1) * MemoryLayout<UnsafeMutableRawPointer>.stride
        if needed > space || !isKnownUniquelyReferenced(&directoryPage) {
            directoryPage = MemoryPage(byteCount: needed > space ? 2 * needed : space, copying: directoryPage)
        }
        directory[page] = pages[page].memory
    }
}
