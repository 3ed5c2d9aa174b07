/// Everything that a search needs of a table, as plain pointers: reading them retains nothing.
///
/// They stay good as long as the storage that made them lives and is not changed.
struct TableReader {
    var nodes: PagedStore<TableNode>.Directory
    var nonLiterals: PagedStore<NonLiteralEdge>.Directory
    var entries: PagedStore<TableEntry>.Directory
    var layouts: PagedStore<TableLayout>.Directory
    var edges: EdgeReader
    var paths: UnsafeMutablePointer<HashIndex<HashedNumber>.Chunk>
    var pathShift: UInt64
    var shapes: PatternShapes.Reader
    var texts: TextArena.Directory
    var seed: TableSeed
    var converters: Unmanaged<ConverterList>
    /// The most components of any pattern.
    var deepest: Int
    /// Whether all routes have one priority, so that the first hit of a search is the best.
    var hasOnePriority: Bool
    var hasDeeperTakers: Bool
    var hasSchemes: Bool
    /// Whether the search by shapes may be tried: one priority, no parents that take deeper URLs, and with case.
    var isPlain: Bool
    var ignoresCase: Bool

    @inline(__always)
    func node(_ index: UInt32) -> UnsafeMutablePointer<TableNode> {
        nodes[Int(index >> PagedStore<TableNode>.shift)] + Int(index & PagedStore<TableNode>.mask)
    }

    @inline(__always)
    func nonLiteral(_ index: UInt32) -> UnsafeMutablePointer<NonLiteralEdge> {
        nonLiterals[Int(index >> PagedStore<NonLiteralEdge>.shift)]
            + Int(index & PagedStore<NonLiteralEdge>.mask)
    }

    @inline(__always)
    func entry(_ index: UInt32) -> UnsafeMutablePointer<TableEntry> {
        entries[Int(index >> PagedStore<TableEntry>.shift)] + Int(index & PagedStore<TableEntry>.mask)
    }

    @inline(__always)
    func layout(_ index: UInt32) -> UnsafeMutablePointer<TableLayout> {
        layouts[Int(index >> PagedStore<TableLayout>.shift)] + Int(index & PagedStore<TableLayout>.mask)
    }

    /// The first entry of the list that begins with `index` that takes a URL of this scheme.
    @inline(__always)
    func first(_ index: UInt32, _ scheme: UInt32) -> UInt32 {
        var next = index
        while next != 0 {
            let entry = entry(next)
            if entry.pointee.scheme == 0 || entry.pointee.scheme == scheme { return next }
            next = entry.pointee.next
        }
        return 0
    }

    /// The entry for a URL of this scheme that nothing else takes.
    func fallback(_ scheme: UInt32) -> UInt32 {
        if scheme != 0, scheme != TableNode.unknownScheme {
            let found = first(node(scheme).pointee.terminal, scheme)
            if found != 0 { return found }
        }
        return first(node(TableNode.fallback).pointee.terminal, scheme)
    }

    /// The match of that entry.
    @inline(never)
    func fallbackMatch(_ scheme: UInt32) -> RouteMatch? {
        let entry = fallback(scheme)
        return entry == 0 ? nil : RouteMatch(entry: entry, of: self, shape: 1, start: 0, ends: SIMD2())
    }

    @inline(__always)
    func text(_ reference: UInt32) -> UnsafeMutablePointer<UInt8> {
        TextArena.text(reference, in: texts)
    }

    @inline(__always)
    func bytes(_ reference: UInt32, count: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: text(reference), count: count)
    }

    /// The node of a URL's scheme: 0 without a scheme, `unknownScheme` for one that no pattern names.
    func scheme(_ text: UnsafePointer<UInt8>, start: Int, length: Int, limit: Int) -> UInt32 {
        if length == 0 { return 0 }
        guard hasSchemes else { return TableNode.unknownScheme }
        // Everything a scheme may hold keeps its value with bit 5 set, but capital letters, which become small.
        let small: UInt64 = 0x2020_2020_2020_2020
        var found: UInt32
        if length <= 16 {
            let head = (ByteWord.load(text, at: start, limit: limit) | small) & ByteWord.mask(length)
            let tail =
                length > 8
                ? (ByteWord.load(text, at: start &+ 8, limit: limit) | small) & ByteWord.mask(length &- 8) : 0
            let component = PathComponent(
                head: head, tail: tail, hash: seed.hash(head: head, tail: tail), start: 0, length: 0,
                textStart: 0,
                textLength: UInt32(truncatingIfNeeded: length))
            found = edges.scheme(component, in: text)
        } else {
            found = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { copy in
                for index in 0..<length { copy[index] = RouteScheme.lowercased(text[start &+ index]) }
                let bytes = UnsafeBufferPointer(copy)
                guard let base = bytes.baseAddress else { return 0 }
                return edges.scheme(seed.component(bytes), in: base)
            }
        }
        if found == 0 { found = TableNode.unknownScheme }
        return found
    }
}
