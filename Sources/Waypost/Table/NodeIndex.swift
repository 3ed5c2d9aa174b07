/// A place in the tree of components: what the patterns have in common that begin with the same steps.
///
/// A node is found by the hash of the steps that lead to it, so that one look at the memory is all that a step costs.
/// Where only one path goes on, no more nodes are made: a leaf holds the records of that path, however long it is.
struct TableNode: BitwiseCopyable {
    /// The hash of the steps to it; 0 in an empty place.
    var hash: UInt64 = 0
    /// The first of the records whose pattern ends here, or of a leaf's; ordered by priority, then scheme before none.
    var first: UInt32 = 0
    /// The first of the steps that are neither a literal nor a plain placeholder, ordered as §3 wants.
    var edges: UInt32 = 0
    /// A record that begins with the steps to here; one that was removed still stands where it was.
    var sample: UInt32 = 0
    // From the lowest bit: whether it is a leaf, whether a placeholder follows, and how many literals do.
    private var bits: UInt32 = 0

    init(hash: UInt64 = 0, first: UInt32 = 0, sample: UInt32 = 0, isLeaf: Bool = false) {
        self.hash = hash
        self.first = first
        self.sample = sample
        self.isLeaf = isLeaf
    }

    /// Whether the path of its records goes on, and no other does.
    @inline(__always) var isLeaf: Bool {
        get { bits & 1 != 0 }
        set { bits = bits & ~1 | (newValue ? 1 : 0) }
    }

    @inline(__always) var hasPlaceholder: Bool {
        get { bits & 2 != 0 }
        set { bits = bits & ~2 | (newValue ? 2 : 0) }
    }

    /// How many literals follow; with none, no look-up is needed.
    @inline(__always) var literals: UInt32 {
        get { bits &>> 2 }
        set { bits = bits & 3 | newValue &<< 2 }
    }

    /// Whether nothing begins with the steps to it.
    var isEmpty: Bool { first == 0 && edges == 0 && bits == 0 }
}

/// The nodes by their hashes: open addressing over pages.
///
/// A change copies the pages that it touches. Growing copies all nodes, which takes some milliseconds for 100 000, and
/// comes after as many again were added.
struct NodeIndex {
    private static let pageShift = 9
    private static let pageNodes = 1 << pageShift

    /// What a search reads.
    struct Reader: BitwiseCopyable {
        fileprivate var pages: PagedMemory.Directory
        fileprivate var mask: Int
        fileprivate var shift: UInt64

        /// The node with a hash.
        @inline(__always)
        func find(_ hash: UInt64) -> UnsafePointer<TableNode>? {
            var place = home(hash)
            while true {
                let node = node(place)
                if node.pointee.hash == hash { return UnsafePointer(node) }
                if node.pointee.hash == 0 { return nil }
                place = (place &+ 1) & mask
            }
        }

        /// Where the search for a hash begins.
        @inline(__always)
        fileprivate func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash &>> shift) }

        @inline(__always)
        fileprivate func node(_ place: Int) -> UnsafeMutablePointer<TableNode> {
            pages[place &>> NodeIndex.pageShift].assumingMemoryBound(to: TableNode.self)
                + (place & (NodeIndex.pageNodes &- 1))
        }
    }

    private var memory = PagedMemory()
    private var capacity = 0
    private(set) var count = 0

    /// An index with space for so many nodes.
    init(count: Int = 0) { makePages(count) }

    // At least half stays empty: the fuller it is, the further nodes lie from where a search begins.
    private static func capacity(for count: Int) -> Int {
        var capacity = 8
        while capacity < 2 * count { capacity *= 2 }
        return capacity
    }

    private mutating func makePages(_ count: Int) {
        capacity = Self.capacity(for: count)
        memory = PagedMemory()
        for _ in 0..<max(1, capacity >> Self.pageShift) {
            memory.append(byteCount: min(capacity, Self.pageNodes) * MemoryLayout<TableNode>.stride)
        }
    }

    var reader: Reader {
        Reader(
            pages: memory.directory, mask: capacity - 1, shift: UInt64(capacity.leadingZeroBitCount + 1))
    }
    var byteCount: Int { memory.byteCount }
    /// The bytes that an index of no more than these nodes would not have.
    var spareBytes: Int {
        (capacity - Self.capacity(for: count)) * MemoryLayout<TableNode>.stride
    }

    subscript(hash: UInt64) -> TableNode? { reader.find(hash)?.pointee }

    /// Changes a node that there is; its hash stays.
    mutating func update(_ hash: UInt64, _ change: (inout TableNode) -> Void) {
        let place = place(hash)
        prepare(place)
        change(&reader.node(place).pointee)
    }

    /// Adds a node whose hash is not there yet.
    mutating func insert(_ node: TableNode) {
        if (count + 1) * 2 > capacity { grow() }
        put(node)
        count += 1
    }

    /// Takes out a node that there is.
    mutating func remove(_ hash: UInt64) {
        var hole = place(hash)
        // What follows moves up if it may, so that a search can still stop at the first empty place.
        var next = hole
        while true {
            next = (next + 1) & (capacity - 1)
            let node = reader.node(next).pointee
            if node.hash == 0 { break }
            let distance = (next - reader.home(node.hash)) & (capacity - 1)
            if distance >= (next - hole) & (capacity - 1) {
                prepare(hole)
                reader.node(hole).pointee = node
                hole = next
            }
        }
        prepare(hole)
        reader.node(hole).pointee = TableNode()
        count -= 1
    }

    /// The place of a hash, or the empty one that it would get.
    private func place(_ hash: UInt64) -> Int {
        var place = reader.home(hash)
        while reader.node(place).pointee.hash != hash, reader.node(place).pointee.hash != 0 {
            place = (place + 1) & (capacity - 1)
        }
        return place
    }

    private mutating func put(_ node: TableNode) {
        let place = place(node.hash)
        prepare(place)
        reader.node(place).pointee = node
    }

    private mutating func prepare(_ place: Int) { memory.prepare(place >> Self.pageShift) }

    private mutating func grow() {
        let (old, oldCapacity, oldMemory) = (reader, capacity, memory)
        makePages(count + 1)
        withExtendedLifetime(oldMemory) {
            for place in 0..<oldCapacity where old.node(place).pointee.hash != 0 {
                put(old.node(place).pointee)
            }
        }
    }
}
