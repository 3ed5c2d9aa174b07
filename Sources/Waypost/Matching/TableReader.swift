/// Everything that a search needs of a table, as plain pointers: reading them retains nothing.
///
/// They stay good as long as the storage that made them lives and is not changed.
struct TableReader: BitwiseCopyable {
    var nodes: NodeIndex.Reader
    /// The node that all paths but those of the fallbacks begin at.
    var root: UnsafePointer<TableNode>?
    var fallback: UnsafePointer<TableNode>?
    var records: PagedMemory.Directory
    var converters: Unmanaged<ConverterList>
    let seed: TableSeed
    /// Whether literals are compared in lower case.
    let ignoresCase: Bool

    // What a search may leave out. A route that goes takes none of it back.
    /// The most components of any pattern.
    var deepest = 0
    /// No route has a higher one, so a search ends at the first hit of a whole URL that has it.
    var highestPriority = Int64.min

    @inline(__always)
    func record(_ reference: UInt32) -> RouteRecordPointer {
        RouteRecordPointer(memory: RecordArena.pointer(reference, in: records))
    }
}
