internal import CPathScan

/// What lies in a ``HashIndex``.
protocol IndexPlace: BitwiseCopyable {
    /// An empty place.
    init()
    var isEmpty: Bool { get }
    /// Its hash, as much of it as ``HashIndex/hashMask`` covers; with it, growing need not look anywhere else.
    var hash: UInt64 { get }
    /// How much of a chunk may be taken, in twelfths.
    static var fullest: Int { get }
    /// By how much a full chunk grows, in quarters.
    static var growth: Int { get }
}

/// An open-addressing hash that is extendible: the upper bits of a hash choose a chunk, lower ones a place in it, and
/// a full chunk grows or is split in two.
///
/// So nothing is ever rehashed as a whole, and a change copies one chunk. Hashes are seeded, for patterns come from
/// outside.
struct HashIndex<Place: IndexPlace> {
    /// What a reader sees of a chunk.
    struct Chunk: BitwiseCopyable {
        var places: UnsafeMutablePointer<Place>
        var capacity: UInt32
        var number: UInt32

        /// The place at which the search for a hash begins.
        @inline(__always)
        func home(_ hash: UInt64) -> Int {
            HashIndex.home(HashIndex.homeBits(hash), capacity: capacity)
        }
    }

    private struct Owner {
        var page: MemoryPage
        var count: Int
        /// How many upper bits of the hash all places of the chunk share.
        var depth: Int
    }

    static var largestChunk: Int { 1024 }
    // Beyond this depth a chunk grows instead: equal hashes could bring it here, or many millions of places.
    static var largestDepth: Int { 15 }
    // Up to this depth the halves of a chunk begin small, for memory's sake; a larger table is compacted after it has grown.
    private static var smallDepth: Int { 3 }
    /// The part of a hash that is used: a chunk's depth, and twelve bits for the place in it.
    static var hashMask: UInt64 { .max &<< 37 }

    private var owners: [Owner] = []
    private var directoryPage: MemoryPage
    private(set) var depth = 1

    init() {
        directoryPage = MemoryPage(byteCount: 2 * MemoryLayout<Chunk>.stride)
        owners.append(
            Owner(page: MemoryPage(byteCount: 8 * MemoryLayout<Place>.stride), count: 0, depth: 0))
        publish(0, prefix: 0)
    }

    var directory: UnsafeMutablePointer<Chunk> {
        directoryPage.memory.assumingMemoryBound(to: Chunk.self)
    }

    /// By how much a hash is shifted to give the chunk's place in the directory.
    var shift: UInt64 { UInt64(64 - depth) }

    var count: Int { owners.reduce(0) { $0 + $1.count } }
    var byteCount: Int { owners.reduce(directoryPage.byteCount) { $0 + $1.page.byteCount } }

    /// The twelve bits of a hash that give the place in a chunk.
    @inline(__always)
    static func homeBits(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash &>> 37) & 0xfff }

    /// The place in which something is put if there is space.
    @inline(__always)
    static func home(_ bits: UInt32, capacity: UInt32) -> Int {
        Int(truncatingIfNeeded: (bits &* capacity) &>> 12)
    }

    /// The chunk in which a hash lies.
    @inline(__always)
    private func chunk(_ hash: UInt64) -> Chunk { directory[Int(hash >> UInt64(64 - depth))] }
    private func number(_ hash: UInt64) -> Int { Int(chunk(hash).number) }

    /// The first place with a hash for which `isMeant` is true.
    @inline(__always)
    func find(_ hash: UInt64, where isMeant: (Place) -> Bool) -> Place? {
        let chunk = chunk(hash)
        var place = chunk.home(hash)
        while !chunk.places[place].isEmpty {
            if isMeant(chunk.places[place]) { return chunk.places[place] }
            place = place + 1 == Int(chunk.capacity) ? 0 : place + 1
        }
        return nil
    }

    /// Asks for the memory in which a hash is looked for.
    @inline(__always)
    func prefetch(_ hash: UInt64) {
        let chunk = chunk(hash)
        waypost_prefetch(chunk.places + chunk.home(hash))
    }

    // MARK: Changes

    /// Adds what is not there yet.
    mutating func insert(_ new: Place, hash: UInt64) {
        var number = number(hash)
        while (owners[number].count + 1) * 12 > capacity(of: number) * Place.fullest {
            makeSpace(in: number, hash: hash)
            number = self.number(hash)
        }
        makeUnique(number, hash: hash)
        Self.put(new, in: places(of: number), capacity: capacity(of: number))
        owners[number].count += 1
    }

    /// Takes out that for which `isMeant` is true.
    mutating func remove(hash: UInt64, isMeant: (Place) -> Bool) {
        let number = number(hash)
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
            let home = Self.home(Self.homeBits(places[next].hash), capacity: UInt32(capacity))
            let distance = next >= home ? next - home : next + capacity - home
            let gap = next >= hole ? next - hole : next + capacity - hole
            if distance >= gap {
                places[hole] = places[next]
                hole = next
            }
        }
        places[hole] = Place()
        owners[number].count -= 1
    }

    /// Changes that for which `isMeant` is true; its hash must stay what it is.
    mutating func update(hash: UInt64, where isMeant: (Place) -> Bool, _ change: (inout Place) -> Void) {
        let number = number(hash)
        makeUnique(number, hash: hash)
        let places = places(of: number)
        let capacity = capacity(of: number)
        var index = Self.home(Self.homeBits(hash), capacity: UInt32(capacity))
        while !places[index].isEmpty {
            if isMeant(places[index]) { return change(&places[index]) }
            index = index + 1 == capacity ? 0 : index + 1
        }
    }

    /// Changes everything there is; hashes must stay what they are.
    mutating func updateAll(_ change: (inout Place) -> Void) {
        forEachChunk { index, number, prefix in
            index.makeUnique(number, hash: prefix)
            let places = index.places(of: number)
            for place in 0..<index.capacity(of: number) where !places[place].isEmpty {
                change(&places[place])
            }
        }
    }

    private func capacity(of number: Int) -> Int {
        owners[number].page.byteCount / MemoryLayout<Place>.stride
    }

    private func places(of number: Int) -> UnsafeMutablePointer<Place> {
        owners[number].page.memory.assumingMemoryBound(to: Place.self)
    }

    private static func put(_ new: Place, in places: UnsafeMutablePointer<Place>, capacity: Int) {
        var index = home(homeBits(new.hash), capacity: UInt32(capacity))
        while !places[index].isEmpty { index = index + 1 == capacity ? 0 : index + 1 }
        places[index] = new
    }

    private mutating func makeUnique(_ number: Int, hash: UInt64) {
        if isKnownUniquelyReferenced(&owners[number].page) { return }
        let page = owners[number].page
        owners[number].page = MemoryPage(byteCount: page.byteCount, copying: page)
        publish(number, prefix: hash)
    }

    private mutating func makeSpace(in number: Int, hash: UInt64) {
        let old = owners[number]
        let capacity = capacity(of: number)
        let isSmall = depth < Self.smallDepth
        if capacity < Self.largestChunk || old.depth >= Self.largestDepth {
            var larger = capacity < 64 ? capacity * 2 : capacity + capacity / 4 * Place.growth
            if !isSmall, capacity < Self.largestChunk { larger = Self.largestChunk }
            owners[number].page = Self.page(larger)
            let target = places(of: number)
            forEach(in: old.page) { Self.put($0, in: target, capacity: larger) }
            publish(number, prefix: hash)
            return
        }
        if old.depth == depth { doubleDirectory() }
        let bit = UInt64(1) << UInt64(63 - old.depth)
        var ones = 0
        forEach(in: old.page) { if $0.hash & bit != 0 { ones += 1 } }
        let parts = [old.count - ones, ones].map { count in
            // Small halves start at four fifths of what they may hold, unless the split is lopsided.
            let half = capacity * 5 / 8
            let isEnough = isSmall && count * 12 <= half * Place.fullest
            return Owner(page: Self.page(isEnough ? half : capacity), count: count, depth: old.depth + 1)
        }
        owners[number] = parts[0]
        owners.append(parts[1])
        let last = owners.count - 1
        let targets = (places(of: number), places(of: last))
        let capacities = (self.capacity(of: number), self.capacity(of: last))
        forEach(in: old.page) {
            if $0.hash & bit == 0 {
                Self.put($0, in: targets.0, capacity: capacities.0)
            } else {
                Self.put($0, in: targets.1, capacity: capacities.1)
            }
        }
        publish(number, prefix: hash & ~bit)
        publish(last, prefix: hash | bit)
    }

    private static func page(_ capacity: Int) -> MemoryPage {
        MemoryPage(byteCount: capacity * MemoryLayout<Place>.stride)
    }

    private func forEach(in page: MemoryPage, _ body: (Place) -> Void) {
        let places = page.memory.assumingMemoryBound(to: Place.self)
        for index in 0..<(page.byteCount / MemoryLayout<Place>.stride) where !places[index].isEmpty {
            body(places[index])
        }
    }

    /// Moves all chunks into an extent.
    mutating func move(into extent: MemoryExtent) {
        forEachChunk { index, number, prefix in
            index.owners[number].page = MemoryPage(copying: index.owners[number].page, into: extent)
            index.publish(number, prefix: prefix)
        }
    }

    /// Moves all chunks into an extent, or into pages of their own, with no more space than they need now.
    mutating func compact(into extent: MemoryExtent?) {
        forEachChunk { index, number, prefix in
            let old = index.owners[number].page
            let capacity = Self.compactCapacity(index.owners[number].count)
            index.owners[number].page = MemoryPage(
                byteCount: capacity * MemoryLayout<Place>.stride, in: extent)
            let target = index.places(of: number)
            index.forEach(in: old) { Self.put($0, in: target, capacity: capacity) }
            index.publish(number, prefix: prefix)
        }
    }

    // A chunk's places in the directory follow each other.
    private mutating func forEachChunk(
        _ body: (_ index: inout Self, _ number: Int, _ prefix: UInt64) -> Void
    ) {
        var index = 0
        while index < 1 << depth {
            let number = Int(directory[index].number)
            body(&self, number, UInt64(index) << UInt64(64 - depth))
            index += 1 << (depth - owners[number].depth)
        }
    }

    /// The bytes that this takes when it is compacted, some for rounding included.
    var compactByteCount: Int {
        owners.reduce(directoryPage.byteCount) {
            $0 + Self.compactCapacity($1.count) * MemoryLayout<Place>.stride + 64
        }
    }

    // A sixteenth above what it must have: the fuller it is, the further places lie from where a search begins.
    private static func compactCapacity(_ count: Int) -> Int {
        max(8, (count + 1) * 12 / Place.fullest * 17 / 16)
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
