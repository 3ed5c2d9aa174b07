/// A place in the tree of components: what the patterns have in common that begin with the same steps.
///
/// A node is found by the hash of the steps that lead to it, so that one look at the memory is all that a step costs.
/// Where only one path goes on, with literals and plain placeholders, no more nodes are made: a leaf holds the records of
/// that path, however long it is.
struct TableNode: BitwiseCopyable {
    /// The hash of the steps to it; 0 in an empty place.
    var hash: UInt64 = 0
    /// The first of the records whose pattern ends here, or of a leaf's; ordered by priority, then scheme before none.
    var first: UInt32 = 0
    /// The first of the steps that are neither a literal nor a plain placeholder, in the order of their keys.
    var edges: UInt32 = 0
    /// A record that begins with the steps to here; one that was removed still stands where it was.
    var sample: UInt32 = 0
    var traits: Traits = []

    /// What a search looks at first, in one word.
    struct Traits: OptionSet, BitwiseCopyable {
        let rawValue: UInt32

        /// The path of its records goes on, and no other does; or it ends with a rest.
        static var isLeaf: Traits { Traits(rawValue: 1) }
        /// Some of its records take deeper URLs.
        static var hasParents: Traits { Traits(rawValue: 16) }
        static var hasPlaceholder: Traits { Traits(rawValue: 2) }
        /// Literals follow; without, no look-up is needed.
        static var hasLiterals: Traits { Traits(rawValue: 4) }
        /// There are ``TableNode/edges``.
        static var hasEdges: Traits { Traits(rawValue: 8) }
    }

    /// Whether nothing begins with the steps to it.
    var isEmpty: Bool { first == 0 && traits.isEmpty }
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
            let node = node(place(of: hash))
            return node.pointee.hash == 0 ? nil : UnsafePointer(node)
        }

        /// Where the node with a hash is, or the empty place that it gets.
        @inline(__always)
        fileprivate func place(of hash: UInt64) -> Int {
            var place = Int(truncatingIfNeeded: hash &>> shift)
            while node(place).pointee.hash != hash, node(place).pointee.hash != 0 {
                place = (place &+ 1) & mask
            }
            return place
        }

        @inline(__always)
        fileprivate func node(_ place: Int) -> UnsafeMutablePointer<TableNode> {
            pages[place &>> NodeIndex.pageShift].assumingMemoryBound(to: TableNode.self)
                + (place & (NodeIndex.pageNodes &- 1))
        }
    }

    private var memory = PagedMemory()
    private(set) var count = 0
    private var capacity: Int { memory.pages.count << Self.pageShift }

    init() { addPages(1) }

    private mutating func addPages(_ count: Int) {
        for _ in 0..<count {
            memory.append(byteCount: Self.pageNodes * MemoryLayout<TableNode>.stride)
        }
    }

    var reader: Reader {
        Reader(
            pages: memory.directory, mask: capacity - 1, shift: UInt64(capacity.leadingZeroBitCount + 1))
    }
    var byteCount: Int { memory.byteCount }

    subscript(hash: UInt64) -> TableNode? { reader.find(hash)?.pointee }

    /// Changes the node with a hash, which has nothing else when it is new.
    mutating func update(_ hash: UInt64, _ change: (inout TableNode) -> Void) {
        // At least half stays empty: the fuller it is, the further nodes lie from where a search begins.
        if (count + 1) * 2 > capacity { grow() }
        let node = prepare(hash)
        if node.pointee.hash == 0 {
            node.pointee.hash = hash
            count += 1
        }
        change(&node.pointee)
    }

    /// The place of a hash, in a page that no one else sees.
    private mutating func prepare(_ hash: UInt64) -> UnsafeMutablePointer<TableNode> {
        let place = reader.place(of: hash)
        memory.prepare(place >> Self.pageShift)
        return reader.node(place)
    }

    private mutating func grow() {
        let old = self
        memory = PagedMemory()
        addPages(2 * old.memory.pages.count)
        withExtendedLifetime(old) {
            for place in 0..<old.capacity where old.reader.node(place).pointee.hash != 0 {
                let node = old.reader.node(place).pointee
                prepare(node.hash).pointee = node
            }
        }
    }
}
