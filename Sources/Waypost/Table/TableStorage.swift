/// What a table is made of.
///
/// A changed table has its own storage, which shares with the old one all pages that the change did not touch.
///
/// Safe to send because it is changed only by the one `RouteTable` that holds it uniquely, before that table is
/// handed on; a storage that two tables see is never written.
final class TableStorage: @unchecked Sendable {
    // Only one table can change these, and it does so in one mutating call. Checked at every access once more, that
    // showed among the dearest calls of building a table.
    @exclusivity(unchecked) var nodes: NodeIndex
    @exclusivity(unchecked) var records = RecordArena()
    @exclusivity(unchecked) var edges = RecordArena()
    @exclusivity(unchecked) var converters: ConverterList
    var seed: TableSeed
    /// Whether literals are compared in lower case.
    let ignoresCase: Bool
    /// How many routes have each priority.
    @exclusivity(unchecked) var priorities = PriorityCounts()
    var count = 0
    var deeperTakers = 0
    var schemes = 0
    var deepest = 0
    /// Bytes of records and edges that were removed.
    var deadBytes = 0

    /// What searches read.
    ///
    /// It has a place of its own so that a search takes one pointer along.
    let reader: UnsafeMutablePointer<TableReader>

    init(converters: ConverterList, seed: TableSeed, ignoresCase: Bool) {
        self.converters = converters
        self.seed = seed
        self.ignoresCase = ignoresCase
        nodes = Self.roots()
        reader = .allocate(capacity: 1)
        reader.initialize(to: makeReader())
    }

    deinit {
        reader.deinitialize(count: 1)
        reader.deallocate()
    }

    /// A storage with the same content that shares every page.
    init(copying other: TableStorage) {
        nodes = other.nodes
        records = other.records
        edges = other.edges
        converters = other.converters
        seed = other.seed
        ignoresCase = other.ignoresCase
        priorities = other.priorities
        count = other.count
        deeperTakers = other.deeperTakers
        schemes = other.schemes
        deepest = other.deepest
        deadBytes = other.deadBytes
        reader = .allocate(capacity: 1)
        reader.initialize(to: other.reader.pointee)
    }

    private static func roots(count: Int = 0) -> NodeIndex {
        var nodes = NodeIndex(count: count)
        for path in [TableSeed.root, TableSeed.fallback] { nodes.insert(TableNode(hash: path)) }
        return nodes
    }

    /// Must follow every change, for pages move.
    func publish() { reader.pointee = makeReader() }

    private func makeReader() -> TableReader {
        TableReader(
            nodes: nodes.reader, records: records.directory, edges: edges.directory, seed: seed,
            converters: .passUnretained(converters), deepest: deepest, hasOnePriority: priorities.areOne,
            hasDeeperTakers: deeperTakers > 0, hasSchemes: schemes > 0, ignoresCase: ignoresCase)
    }

    /// The bytes that the table's records and texts hold.
    var byteCount: Int { nodes.byteCount + records.byteCount + edges.byteCount }

    /// Counts a route, or with -1 one that goes.
    func tally(_ record: RouteRecord, by change: Int) {
        if !record.isShorter { count += change }
        if record.takesDeeper { deeperTakers += change }
        if record.schemeLength > 0 { schemes += change }
        priorities.count(record.priority, by: change)
        deepest = max(deepest, Int(record.depth))
    }

    // MARK: Records

    func record(_ reference: UInt32) -> RouteRecordPointer { RouteRecordPointer(memory: records[reference]) }

    /// The record of a match; nil for one that is not from here.
    func record(of match: RouteMatch) -> RouteRecordPointer? {
        guard records.has(match.record) else { return nil }
        let record = record(match.record)
        return record.header.pointee.own == match.record ? record : nil
    }

    /// Calls `body` with each record in use, oldest first, until it returns false.
    func forEachRecord(_ body: (RouteRecordPointer) -> Bool) {
        records.forEach { reference in
            let record = record(reference)
            // What was never written has no text.
            guard record.header.pointee.textLength > 0 else { return 0 }
            return record.header.pointee.isDead || body(record) ? record.header.pointee.byteCount : nil
        }
    }

    /// The references of a list that begins with this one.
    func list(_ first: UInt32) -> [UInt32] {
        var list: [UInt32] = []
        var next = first
        while next != 0 {
            list.append(next)
            next = record(next).header.pointee.next
        }
        return list
    }

    // MARK: Building anew

    /// Frees what was removed, if it is more than a sixteenth of all, and the space for growing.
    func compact() {
        if deadBytes + nodes.spareBytes > byteCount / 16, !rebuild() { changeSeed() }
        records.trim()
        edges.trim()
    }

    /// Finds a seed with which no two paths have one hash, which nearly all are.
    func changeSeed() {
        repeat { seed = TableSeed() } while !rebuild()
    }

    /// False when two paths have one hash.
    private func rebuild() -> Bool {
        let (oldNodes, oldRecords, oldEdges, oldDead) = (nodes, records, edges, deadBytes)
        var all: [RouteRecordPointer] = []
        forEachRecord {
            all.append($0)
            return true
        }
        nodes = Self.roots(count: nodes.count)
        records = RecordArena()
        edges = RecordArena()
        deadBytes = 0
        return withExtendedLifetime((oldNodes, oldRecords, oldEdges)) {
            do throws(HashCollision) {
                for record in all { try link(record) }
                return true
            } catch {
                (nodes, records, edges, deadBytes) = (oldNodes, oldRecords, oldEdges, oldDead)
                return false
            }
        }
    }
}
