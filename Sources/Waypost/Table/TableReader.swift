/// Everything that a search needs of a table, as plain pointers: reading them retains nothing.
///
/// They stay good as long as the storage that made them lives and is not changed.
struct TableReader {
    var nodes: NodeIndex.Reader
    var records: PagedMemory.Directory
    var edges: PagedMemory.Directory
    var seed: TableSeed
    var converters: Unmanaged<ConverterList>
    /// The most components of any pattern.
    var deepest: Int
    /// Whether all routes have one priority, so that the first hit of a search is the best.
    var hasOnePriority: Bool
    var hasDeeperTakers: Bool
    var hasSchemes: Bool
    var ignoresCase: Bool

    @inline(__always)
    func record(_ reference: UInt32) -> RouteRecordPointer {
        RouteRecordPointer(memory: RecordArena.pointer(reference, in: records))
    }

    func edge(_ reference: UInt32) -> TableEdge {
        TableEdge(memory: RecordArena.pointer(reference, in: edges))
    }

    /// The scheme that stands in a text of which at least sixteen bytes may be read.
    @inline(__always)
    func scheme(_ text: UnsafePointer<UInt8>, start: Int, length: Int) -> URLScheme {
        guard length > 0, hasSchemes else { return URLScheme(hash: 0, start: text, length: 0) }
        return URLScheme(
            hash: seed.scheme(text, from: start, to: start &+ length), start: text + start, length: length)
    }
}

/// The scheme of a URL.
struct URLScheme {
    /// That of the path to the scheme's fallback; 0 without a scheme, and when no pattern names any.
    let hash: UInt64
    /// As written.
    let start: UnsafePointer<UInt8>
    let length: Int
}

/// A step that is neither a literal nor a plain placeholder, as one of those behind a node.
struct TableEdge {
    struct Header: BitwiseCopyable {
        /// The one that follows in the order of §3.
        var next: UInt32 = 0
        var length: UInt32 = 0
    }

    let memory: UnsafeMutableRawPointer

    var next: UInt32 { memory.assumingMemoryBound(to: Header.self).pointee.next }

    /// What a ``NonLiteralKey`` is written as.
    var bytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(
            start: (memory + MemoryLayout<Header>.size).assumingMemoryBound(to: UInt8.self),
            count: Int(memory.assumingMemoryBound(to: Header.self).pointee.length))
    }

    /// The hash of a path that goes on with it.
    func hash(behind path: UInt64, _ seed: TableSeed) -> UInt64 {
        guard let start = bytes.baseAddress else { return 0 }
        return seed.other(ByteWords(start, count: bytes.count), behind: path)
    }
}
