/// The texts of a table, one behind the other in pages; a text never crosses a page.
///
/// Behind every text stands a `/`. Eight bytes before a text may be read, and 136 behind its `/`: a word more than the
/// longest path that is compared word by word.
///
/// A reference is the page's number and the offset in it. Texts are never changed, only added.
struct TextArena {
    typealias Directory = UnsafeMutablePointer<UnsafeMutablePointer<UInt8>>

    static let pageShift: UInt32 = 16
    static let pageBytes = 1 << 16
    /// What lies behind the last text of a page: its `/`, and space to read.
    private static let margin = 1 + 136
    /// What lies before the first: space to read, and a reference of 0 for the empty text.
    private static let lead = 8

    private var pages: [MemoryPage] = []
    private var directoryPage = MemoryPage(byteCount: 64)
    private var used = Self.lead

    init() {
        pages.append(MemoryPage(byteCount: 1024))
        publish(0)
    }

    var directory: Directory {
        directoryPage.memory.assumingMemoryBound(to: UnsafeMutablePointer<UInt8>.self)
    }

    /// Where a text begins.
    @inline(__always)
    static func text(_ reference: UInt32, in directory: Directory) -> UnsafeMutablePointer<UInt8> {
        directory[Int(reference >> pageShift)] + Int(reference & 0xffff)
    }

    func bytes(_ reference: UInt32, count: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: Self.text(reference, in: directory), count: count)
    }

    /// Adds a text of at most 65 000 bytes.
    mutating func append(_ text: UnsafeBufferPointer<UInt8>) -> UInt32 {
        guard let source = text.baseAddress, !text.isEmpty else { return 0 }
        var page = pages.count - 1
        let needed = used + text.count + Self.margin
        if needed > Self.pageBytes {
            page += 1
            used = Self.lead
            pages.append(MemoryPage(byteCount: Self.pageBytes))
            publish(page)
        } else if needed > pages[page].byteCount {
            let byteCount = min(Self.pageBytes, max(pages[page].byteCount * 2, needed))
            pages[page] = MemoryPage(byteCount: byteCount, copying: pages[page])
            publish(page)
        } else if !isKnownUniquelyReferenced(&pages[page]) {
            pages[page] = MemoryPage(byteCount: pages[page].byteCount, copying: pages[page])
            publish(page)
        }
        (pages[page].memory + used).copyMemory(from: source, byteCount: text.count)
        (pages[page].memory + used + text.count).storeBytes(of: UInt8(ascii: "/"), as: UInt8.self)
        let reference = UInt32(page) << Self.pageShift | UInt32(used)
        used += text.count + 1
        return reference
    }

    /// Adds a text with its length before it.
    mutating func append(counted text: UnsafeBufferPointer<UInt8>) -> UInt32 {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count + 2) { copy in
            copy[0] = UInt8(truncatingIfNeeded: text.count)
            copy[1] = UInt8(truncatingIfNeeded: text.count >> 8)
            _ = copy[2...].update(fromContentsOf: text)
            return append(UnsafeBufferPointer(copy))
        }
    }

    /// The bytes that a text takes which was added with its length: two before it, and the `/` behind.
    static func space(counted length: Int) -> Int { length + 3 }

    /// A text that was added with its length.
    static func counted(_ reference: UInt32, in directory: Directory) -> UnsafeBufferPointer<UInt8> {
        let text = text(reference, in: directory)
        return UnsafeBufferPointer(start: text + 2, count: Int(text[0]) | Int(text[1]) << 8)
    }

    private mutating func publish(_ page: Int) {
        let needed = (page + 1) * MemoryLayout<UnsafeMutableRawPointer>.stride
        if needed > directoryPage.byteCount {
            directoryPage = MemoryPage(
                byteCount: max(needed, directoryPage.byteCount * 2), copying: directoryPage)
        } else if !isKnownUniquelyReferenced(&directoryPage) {
            directoryPage = MemoryPage(byteCount: directoryPage.byteCount, copying: directoryPage)
        }
        directory[page] = pages[page].memory.assumingMemoryBound(to: UInt8.self)
    }

    /// Moves all pages into an extent.
    mutating func compact(into extent: MemoryExtent) {
        for page in pages.indices {
            pages[page] = MemoryPage(copying: pages[page], into: extent)
            publish(page)
        }
    }

    /// The bytes of pages that lie by themselves.
    var scatteredBytes: Int { pages.reduce(0) { $0 + $1.scatteredBytes } }

    /// The bytes this arena holds, shared ones included.
    var byteCount: Int {
        pages.reduce(directoryPage.byteCount) { $0 + $1.byteCount }
    }
}
