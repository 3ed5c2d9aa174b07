/// What a table is made of.
///
/// A changed table has its own storage, which shares with the old one all pages that the
/// change did not touch: with 100 000 routes some 20 of 1 500 are copied.
///
/// Safe to send because it is changed only by the one `RouteTable` that holds it uniquely, before that table is
/// handed on; a storage that two tables see is never written.
final class TableStorage: @unchecked Sendable {
    // Only one table can change these, and it does so in one mutating call. Checked at every access once more, that
    // showed among the dearest calls of building a table.
    @exclusivity(unchecked) var nodes = PagedStore<TableNode>()
    @exclusivity(unchecked) var nonLiterals = PagedStore<NonLiteralEdge>()
    @exclusivity(unchecked) var entries = PagedStore<TableEntry>()
    @exclusivity(unchecked) var layouts = PagedStore<TableLayout>()
    @exclusivity(unchecked) var edges = HashIndex<TableEdge>()
    @exclusivity(unchecked) var paths = HashIndex<HashedNumber>()
    @exclusivity(unchecked) var shapes: PatternShapes
    @exclusivity(unchecked) var texts = TextArena()
    @exclusivity(unchecked) var converters: ConverterList
    let seed: TableSeed
    /// Whether literals are compared in lower case.
    let ignoresCase: Bool

    @exclusivity(unchecked) var captures: [CaptureLayout] = []
    /// The numbers of layouts by their hash.
    @exclusivity(unchecked) var layoutNumbers = HashIndex<HashedNumber>()
    /// How many routes have each priority.
    @exclusivity(unchecked) var priorities = PriorityCounts()
    var count = 0
    var deeperTakers = 0
    var schemes = 0
    var deepest = 0
    // Heads of the lists of records to use again.
    var freeNode: UInt32 = 0
    var freeNonLiteral: UInt32 = 0
    var freeEntry: UInt32 = 0
    var freeLayouts: [UInt32] = []
    /// Bytes of text that nothing refers to any more.
    var deadText = 0
    /// How often the table was changed, its ancestors' changes included.
    private var changes = 0
    /// How large the table was when its pages were last moved together.
    var movedBytes = 0

    /// What searches read.
    ///
    /// It has a place of its own so that a search takes one pointer along.
    let reader: UnsafeMutablePointer<TableReader>

    init(converters: ConverterList, seed: TableSeed, ignoresCase: Bool) {
        self.converters = converters
        self.ignoresCase = ignoresCase
        self.seed = seed
        // Record 0 means none; then come root, fallback and schemes.
        shapes = PatternShapes(seed: seed)
        for _ in 0...TableNode.schemes { _ = nodes.append(TableNode()) }
        _ = entries.append(
            TableEntry(priority: 0, index: 0, next: 0, scheme: 0, layout: 0))
        _ = layouts.append(CaptureLayout().record)
        captures.append(CaptureLayout())
        _ = nonLiterals.append(
            NonLiteralEdge(
                kind: .rest, converter: 0, prefixLength: 0, suffixLength: 0, text: 0, child: 0, next: 0))
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
        nonLiterals = other.nonLiterals
        entries = other.entries
        layouts = other.layouts
        edges = other.edges
        paths = other.paths
        shapes = other.shapes
        texts = other.texts
        converters = other.converters
        seed = other.seed
        ignoresCase = other.ignoresCase
        captures = other.captures
        layoutNumbers = other.layoutNumbers
        priorities = other.priorities
        count = other.count
        deeperTakers = other.deeperTakers
        schemes = other.schemes
        deepest = other.deepest
        freeNode = other.freeNode
        freeNonLiteral = other.freeNonLiteral
        freeEntry = other.freeEntry
        freeLayouts = other.freeLayouts
        deadText = other.deadText
        changes = other.changes
        movedBytes = other.movedBytes
        reader = .allocate(capacity: 1)
        reader.initialize(to: other.reader.pointee)
    }

    /// Must follow every change, for pages move.
    func publish() {
        changes &+= 1
        // Finding out takes a look at every page.
        if changes & 4095 == 0 { compactAgain() }
        reader.pointee = makeReader()
    }

    var edgeReader: EdgeReader {
        EdgeReader(chunks: edges.directory, shift: edges.shift, texts: texts.directory, seed: seed)
    }

    private func makeReader() -> TableReader {
        TableReader(
            nodes: nodes.directory, nonLiterals: nonLiterals.directory, entries: entries.directory,
            layouts: layouts.directory, edges: edgeReader,
            paths: paths.directory, pathShift: paths.shift, shapes: shapes.reader, texts: texts.directory,
            seed: seed, converters: .passUnretained(converters), deepest: deepest,
            hasOnePriority: priorities.areOne, hasDeeperTakers: deeperTakers > 0, hasSchemes: schemes > 0,
            isPlain: priorities.areOne && deeperTakers == 0 && !ignoresCase, ignoresCase: ignoresCase)
    }

    /// The bytes that the table's records and texts hold.
    var byteCount: Int {
        nodes.byteCount + nonLiterals.byteCount + entries.byteCount + layouts.byteCount + edges.byteCount
            + paths.byteCount + shapes.byteCount + texts.byteCount
    }

    /// The pattern of an entry, as it was written.
    func patternText(_ entry: TableEntry) -> String {
        String(decoding: texts.bytes(entry.text, count: Int(entry.textLength)), as: UTF8.self)
    }

    /// Calls `body` with each entry in use.
    func forEachEntry(_ body: (UInt32, TableEntry) -> Bool) {
        var index: UInt32 = 1
        while index < entries.count {
            let entry = entries[index]
            // Every pattern has at least one byte: an entry without text is free.
            if entry.textLength > 0, !body(index, entry) { return }
            index += 1
        }
    }
}
