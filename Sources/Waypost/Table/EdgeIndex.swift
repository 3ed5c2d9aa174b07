/// All literal edges of a table in one open-addressing hash, keyed by the node they leave and their text.
///
/// The hash is extendible: the upper bits of a hash choose a chunk, the lower ones a place in it, and a full chunk
/// grows by a quarter or is split in two. So nothing is ever rehashed as a whole, a change copies one chunk, and
/// the load stays between a half and two thirds. Hashes are seeded, for patterns come from outside.
struct EdgeIndex {
    /// What a reader sees of a chunk.
    struct Chunk: BitwiseCopyable {
        var places: UnsafeMutablePointer<TableEdge>
        var capacity: UInt32
        var number: UInt32
    }

    private struct Owner {
        var page: MemoryPage
        var count: Int
        /// How many upper bits of the hash all edges of the chunk share.
        var depth: Int
    }

    static let largestChunk = 1024
    // Beyond this depth a chunk grows instead: only equal hashes could bring it here.
    static let largestDepth = 20

    private var owners: [Owner] = []
    private var directoryPage: MemoryPage
    private(set) var depth = 1

    init() {
        directoryPage = MemoryPage(byteCount: 2 * MemoryLayout<Chunk>.stride)
        owners.append(
            Owner(page: MemoryPage(byteCount: 8 * MemoryLayout<TableEdge>.stride), count: 0, depth: 0))
        publish(0, prefix: 0)
    }

    var directory: UnsafeMutablePointer<Chunk> {
        directoryPage.memory.assumingMemoryBound(to: Chunk.self)
    }

    var count: Int { owners.reduce(0) { $0 + $1.count } }
    var byteCount: Int { owners.reduce(directoryPage.byteCount) { $0 + $1.page.byteCount } }

    // MARK: Hashing

    /// The hash of an edge, from that of the way to the node it leaves and that of its text.
    ///
    /// The way's hash is made of texts and not of node numbers, though an edge is told by its node's number. So a
    /// search knows where the next edge must lie before it has read the one before, and the waiting for memory at
    /// every level overlaps. The texts' hashes hold the secret.
    @inline(__always)
    static func hash(_ path: UInt64, _ text: UInt64) -> UInt64 {
        path ^ text
    }

    /// The hash of the way to the node behind an edge.
    @inline(__always)
    static func path(_ hash: UInt64) -> UInt64 {
        let product = hash &* 0x9e37_79b9_7f4a_7c15
        return product &>> 32 | product &<< 32
    }

    /// The hash of the way to the node behind the placeholder.
    @inline(__always)
    static func placeholderPath(_ path: UInt64) -> UInt64 {
        Self.path(path ^ 0xd6e8_feb8_6659_fd93)
    }

    /// The twelve bits of a hash that give the place in a chunk.
    @inline(__always)
    static func homeBits(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash &>> 20) & 0xfff }

    /// The place in which an edge is put if there is room.
    @inline(__always)
    static func home(_ bits: UInt32, capacity: UInt32) -> Int {
        Int(truncatingIfNeeded: (bits &* capacity) &>> 12)
    }

    private func chunk(_ hash: UInt64) -> Int {
        Int(directory[Int(hash >> UInt64(64 - depth))].number)
    }

    // MARK: Changes

    /// Adds an edge that is not there yet.
    mutating func insert(_ edge: TableEdge, hash: UInt64, rehash: (TableEdge) -> UInt64) {
        var number = chunk(hash)
        while (owners[number].count + 1) * 3 > capacity(of: number) * 2 {
            makeRoom(in: number, hash: hash, rehash: rehash)
            number = chunk(hash)
        }
        makeUnique(number, hash: hash)
        Self.place(edge, in: places(of: number), capacity: capacity(of: number))
        owners[number].count += 1
    }

    /// Takes out the edge for which `isMeant` is true.
    mutating func remove(hash: UInt64, isMeant: (TableEdge) -> Bool) {
        let number = chunk(hash)
        makeUnique(number, hash: hash)
        let places = places(of: number)
        let capacity = capacity(of: number)
        var hole = Self.home(Self.homeBits(hash), capacity: UInt32(capacity))
        while !isMeant(places[hole]) {
            if places[hole].isEmpty { return }
            hole = hole + 1 == capacity ? 0 : hole + 1
        }
        // What follows moves up if it may, so that a search can still stop at the first empty place.
        var next = hole
        while true {
            next = next + 1 == capacity ? 0 : next + 1
            if places[next].isEmpty { break }
            let home = Self.home(places[next].homeBits, capacity: UInt32(capacity))
            let distance = next >= home ? next - home : next + capacity - home
            let gap = next >= hole ? next - hole : next + capacity - hole
            if distance >= gap {
                places[hole] = places[next]
                hole = next
            }
        }
        places[hole] = TableEdge()
        owners[number].count -= 1
    }

    /// Changes the reference to each long text; hashes must stay what they are.
    mutating func updateTexts(_ change: (TableEdge) -> UInt32) {
        for number in owners.indices {
            // Any hash of the chunk will do: its directory entries are found by the chunk's upper bits.
            var prefix: UInt64?
            for index in 0..<(1 << depth) where directory[index].number == UInt32(number) {
                prefix = UInt64(index) << UInt64(64 - depth)
                break
            }
            guard let prefix else { continue }
            makeUnique(number, hash: prefix)
            let places = places(of: number)
            for index in 0..<capacity(of: number) where !places[index].isEmpty && places[index].length > 16 {
                places[index].text = change(places[index])
            }
        }
    }

    private func capacity(of number: Int) -> Int {
        owners[number].page.byteCount / MemoryLayout<TableEdge>.stride
    }

    private func places(of number: Int) -> UnsafeMutablePointer<TableEdge> {
        owners[number].page.memory.assumingMemoryBound(to: TableEdge.self)
    }

    private static func place(
        _ edge: TableEdge, in places: UnsafeMutablePointer<TableEdge>, capacity: Int
    ) {
        var index = home(edge.homeBits, capacity: UInt32(capacity))
        while !places[index].isEmpty { index = index + 1 == capacity ? 0 : index + 1 }
        places[index] = edge
    }

    private mutating func makeUnique(_ number: Int, hash: UInt64) {
        if isKnownUniquelyReferenced(&owners[number].page) { return }
        let page = owners[number].page
        owners[number].page = MemoryPage(byteCount: page.byteCount, copying: page)
        publish(number, prefix: hash)
    }

    private mutating func makeRoom(in number: Int, hash: UInt64, rehash: (TableEdge) -> UInt64) {
        let old = owners[number]
        let capacity = capacity(of: number)
        if capacity < Self.largestChunk || old.depth >= Self.largestDepth {
            let larger = capacity < 64 ? capacity * 2 : capacity + capacity / 4
            owners[number].page = MemoryPage(byteCount: larger * MemoryLayout<TableEdge>.stride)
            let target = places(of: number)
            forEach(in: old.page) { Self.place($0, in: target, capacity: larger) }
            publish(number, prefix: hash)
            return
        }
        // Five eighths: each half starts a bit over half full.
        let half = Self.largestChunk * 5 / 8
        let bit = UInt64(1) << UInt64(63 - old.depth)
        if old.depth == depth { doubleDirectory() }
        var parts = [0, 1].map { _ in
            Owner(
                page: MemoryPage(byteCount: half * MemoryLayout<TableEdge>.stride), count: 0,
                depth: old.depth + 1)
        }
        // A lopsided split may need more room than a half has.
        let sides = edges(in: old.page).map { (edge: $0, side: rehash($0) & bit == 0 ? 0 : 1) }
        for side in 0...1 where sides.count(where: { $0.side == side }) * 3 > half * 2 {
            parts[side].page = MemoryPage(byteCount: old.page.byteCount)
        }
        for (edge, side) in sides {
            Self.place(
                edge, in: parts[side].page.memory.assumingMemoryBound(to: TableEdge.self),
                capacity: parts[side].page.byteCount / MemoryLayout<TableEdge>.stride)
            parts[side].count += 1
        }
        owners[number] = parts[0]
        owners.append(parts[1])
        publish(number, prefix: hash & ~bit)
        publish(owners.count - 1, prefix: hash | bit)
    }

    private func forEach(in page: MemoryPage, _ body: (TableEdge) -> Void) {
        let places = page.memory.assumingMemoryBound(to: TableEdge.self)
        for index in 0..<(page.byteCount / MemoryLayout<TableEdge>.stride) where !places[index].isEmpty {
            body(places[index])
        }
    }

    private func edges(in page: MemoryPage) -> [TableEdge] {
        var edges: [TableEdge] = []
        edges.reserveCapacity(Self.largestChunk)
        forEach(in: page) { edges.append($0) }
        return edges
    }

    /// Moves all chunks into an extent.
    mutating func settle(into extent: MemoryExtent) {
        var index = 0
        while index < 1 << depth {
            // A chunk's places in the directory follow each other.
            let number = Int(directory[index].number)
            owners[number].page = MemoryPage(copying: owners[number].page, into: extent)
            publish(number, prefix: UInt64(index) << UInt64(64 - depth))
            index += 1 << (depth - owners[number].depth)
        }
    }

    /// The bytes of chunks that lie by themselves.
    var scatteredBytes: Int { owners.reduce(0) { $0 + $1.page.scatteredBytes } }

    // MARK: Directory

    private mutating func doubleDirectory() {
        let old = directoryPage
        let entries = old.memory.assumingMemoryBound(to: Chunk.self)
        directoryPage = MemoryPage(byteCount: old.byteCount * 2)
        for index in 0..<(1 << depth) {
            directory[index * 2] = entries[index]
            directory[index * 2 + 1] = entries[index]
        }
        depth += 1
    }

    // Writes the chunk into every place of the directory that its upper bits cover.
    private mutating func publish(_ number: Int, prefix: UInt64) {
        if !isKnownUniquelyReferenced(&directoryPage) {
            directoryPage = MemoryPage(byteCount: directoryPage.byteCount, copying: directoryPage)
        }
        let chunk = Chunk(
            places: places(of: number), capacity: UInt32(capacity(of: number)), number: UInt32(number))
        let free = depth - owners[number].depth
        let first = (Int(prefix >> UInt64(64 - depth)) >> free) << free
        for index in first..<(first + (1 << free)) { directory[index] = chunk }
    }
}
