/// What a table is made of.
///
/// A changed table has its own storage, which shares with the old one all pages that the change did not touch. Records
/// and nodes are only ever added; what was removed is left out when the table is rebuilt.
///
/// Safe to send because it is changed only by the one `RouteTable` that holds it uniquely, before that table is
/// handed on; a storage that two tables see is never written.
final class TableStorage: @unchecked Sendable {
    // Only one table can change these, and it does so in one mutating call. Checked at every access once more, that
    // showed among the dearest calls of building a table.
    @exclusivity(unchecked) var nodes = NodeIndex()
    @exclusivity(unchecked) var records = RecordArena()
    @exclusivity(unchecked) var converters: ConverterList
    var count = 0
    /// Bytes of records that were removed.
    var deadBytes = 0
    /// How many records were passed to find the places of those that were added.
    var passed = 0

    /// What searches read, in a place of its own so that a search takes one pointer along.
    let reader: UnsafeMutablePointer<TableReader>

    var seed: TableSeed { reader.pointee.seed }
    var ignoresCase: Bool { reader.pointee.ignoresCase }
    /// The bytes that the table's records and texts hold.
    var byteCount: Int { nodes.byteCount + records.byteCount }

    init(converters: ConverterList, seed: TableSeed, ignoresCase: Bool) {
        self.converters = converters
        for path in [TableSeed.root, TableSeed.fallback] { nodes.update(path) { _ in } }
        reader = .allocate(capacity: 1)
        reader.initialize(
            to: TableReader(
                nodes: nodes.reader, records: records.directory, converters: .passUnretained(converters),
                seed: seed, ignoresCase: ignoresCase))
        publish()
    }

    /// A storage with the same content that shares every page.
    init(copying other: TableStorage) {
        (nodes, records, converters) = (other.nodes, other.records, other.converters)
        (count, deadBytes) = (other.count, other.deadBytes)
        reader = .allocate(capacity: 1)
        reader.initialize(to: other.reader.pointee)
    }

    deinit { reader.deallocate() }

    /// Must follow every change, for pages move.
    func publish() {
        reader.pointee.nodes = nodes.reader
        reader.pointee.root = nodes.reader.find(TableSeed.root)
        reader.pointee.fallback = nodes.reader.find(TableSeed.fallback)
        reader.pointee.records = records.directory
        reader.pointee.converters = .passUnretained(converters)
    }

    // MARK: Records

    func record(_ reference: UInt32) -> RouteRecordPointer { RouteRecordPointer(memory: records[reference]) }

    /// The record of a match; nil for one that is not from here.
    func record(of match: RouteMatch) -> RouteRecordPointer? {
        guard records.has(match.record) else { return nil }
        let record = record(match.record)
        return record.header.pointee.own == match.record ? record : nil
    }

    /// The references of the records in a list of a node.
    func list(_ list: KeyPath<TableNode, UInt32>, at path: UInt64) -> some Sequence<UInt32> {
        sequence(state: nodes[path]?[keyPath: list] ?? 0) { next in
            let reference = next
            if reference != 0 { next = self.record(reference).header.pointee.next }
            return reference == 0 ? nil : reference
        }
    }

    // MARK: Rebuilding

    /// Frees what was removed, if it is more than a sixteenth of all, and the space for growing.
    func compact() {
        if deadBytes > byteCount / 16 { rebuild(seed) }
        records.trim()
    }

    /// A table that lives through many changes would grow without end.
    func compactIfWorthwhile() {
        if count == 0 || deadBytes > 1 << 16 && deadBytes > records.byteCount / 2 { rebuild(seed) }
    }

    /// Rebuilds everything, with this seed unless two paths have one hash with it, which hardly any have.
    func rebuild(_ seed: TableSeed) {
        let new = TableStorage(converters: converters, seed: seed, ignoresCase: ignoresCase)
        do throws(HashCollision) {
            for record in records.routes { try new.link(record) }
        } catch {
            return rebuild(TableSeed())
        }
        (nodes, records, count, deadBytes) = (new.nodes, new.records, new.count, 0)
        reader.pointee = new.reader.pointee
    }
}

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
