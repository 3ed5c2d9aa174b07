/// Everything that a search needs of a table, as plain pointers: reading them retains nothing.
///
/// They stay good as long as the storage that made them lives and is not changed.
struct TableReader: BitwiseCopyable {
    var nodes: NodeIndex.Reader
    /// The node that all paths but those of the fallbacks begin at.
    var root: UnsafePointer<TableNode>?
    var records: PagedMemory.Directory
    var converters: Unmanaged<ConverterList>
    let seed: TableSeed
    /// Whether literals are compared in lower case.
    let ignoresCase: Bool

    // What a search may leave out. A route that goes takes none of it back.
    /// The most components of any pattern.
    private(set) var deepest = 0
    private(set) var priority: Int64 = 0
    /// Whether all routes have one priority, so that the first hit of a search is the best.
    private(set) var hasOnePriority = true
    private(set) var hasDeeperTakers = false
    private(set) var hasSchemes = false

    /// Takes note of a route; `isFirst` when there is no other one.
    mutating func note(_ record: RouteRecord, isFirst: Bool) {
        deepest = max(deepest, Int(record.depth))
        hasOnePriority = isFirst || hasOnePriority && priority == record.priority
        priority = record.priority
        hasDeeperTakers = hasDeeperTakers || record.takesDeeper
        hasSchemes = hasSchemes || record.schemeLength > 0
    }

    @inline(__always)
    func record(_ reference: UInt32) -> RouteRecordPointer {
        RouteRecordPointer(memory: RecordArena.pointer(reference, in: records))
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
