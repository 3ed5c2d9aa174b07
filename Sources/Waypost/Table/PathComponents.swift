/// One component of a URL, ready to be looked up: its first sixteen bytes, its hash, and where it lies.
struct PathComponent: BitwiseCopyable {
    var head: UInt64
    var tail: UInt64
    var hash: UInt64
    /// In the URL, as written.
    var start: UInt32
    var length: UInt32
    /// In the text that is compared: the URL itself, or its decoded copy.
    var textStart: UInt32
    var textLength: UInt32
}

/// The hashes of the paths that all others begin with.
enum PathHash {
    static let root: UInt64 = 1
    static let schemes: UInt64 = 3
}

/// The secret seed of a table's hashes.
struct TableSeed: BitwiseCopyable, Sendable {
    var first: UInt64
    var second: UInt64

    /// A secret of the system's.
    ///
    /// Not with `using`: handing on a generator that has no byte of its own looks to
    /// the thread sanitizer like a race at an address that belongs to no object.
    init() {
        var generator = SystemRandomNumberGenerator()
        first = generator.next()
        second = generator.next()
    }

    init(using generator: inout some RandomNumberGenerator) {
        first = generator.next()
        second = generator.next()
    }

    @inline(__always)
    static func mix(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }

    @inline(__always)
    func hash(head: UInt64, tail: UInt64) -> UInt64 {
        Self.mix(head ^ first, tail ^ second)
    }

    // MARK: Paths through the tree
    // An edge is found by the hash of all that leads to it, which is known before the node that it leaves: so the
    // places of all edges on a path are asked of the memory at once.

    /// The hash of a path that goes on with a literal, from the hash of its text.
    @inline(__always)
    func literal(behind path: UInt64, _ text: UInt64) -> UInt64 {
        Self.mix(text ^ path, second | 1)
    }

    /// The hash of a path that goes on with a plain placeholder.
    @inline(__always)
    func placeholder(behind path: UInt64) -> UInt64 {
        (path &<< 23 | path &>> 41) ^ first
    }

    /// The hash of a path that goes on with a non-literal edge.
    @inline(__always)
    func nonLiteral(_ number: UInt32, behind path: UInt64) -> UInt64 {
        Self.mix(path ^ UInt64(number), first | 1)
    }

    /// The hash of a layout: of what patterns capture, and of their shape.
    func layout(_ captured: UInt64, _ shape: UInt32) -> UInt64 {
        Self.mix(captured ^ first, UInt64(shape) ^ second)
    }

    /// The hash of a text longer than sixteen bytes, from that of its first sixteen.
    func hash(_ start: UInt64, rest text: UnsafePointer<UInt8>, count: Int) -> UInt64 {
        var hash = start
        var index = 16
        while index < count {
            hash = Self.mix(
                hash ^ ByteWord.load(text, at: index, limit: count), second ^ 0xa076_1d64_78bd_642f)
            index &+= 8
        }
        return hash
    }

    /// The component that `text` is; used for patterns and for decoded texts.
    func component(_ text: UnsafeBufferPointer<UInt8>) -> PathComponent {
        guard let base = text.baseAddress else {
            return PathComponent(
                head: 0, tail: 0, hash: hash(head: 0, tail: 0), start: 0, length: 0, textStart: 0,
                textLength: 0)
        }
        let head = ByteWord.load(base, at: 0, limit: text.count)
        let tail = ByteWord.load(base, at: 8, limit: text.count)
        var hash = hash(head: head, tail: tail)
        if text.count > 16 { hash = self.hash(hash, rest: base, count: text.count) }
        return PathComponent(
            head: head, tail: tail, hash: hash, start: 0, length: 0, textStart: 0,
            textLength: UInt32(truncatingIfNeeded: text.count))
    }
}

/// Splits a URL into components, finding `/` and hashing in one pass over words of eight bytes.
struct PathSplitter {
    let text: UnsafePointer<UInt8>
    /// How many bytes may be read from `text`.
    let limit: Int
    let seed: TableSeed
    let target: UnsafeMutablePointer<PathComponent>
    /// The most components that are worth finding: one more than the deepest pattern has.
    let capacity: Int
    private(set) var count = 0

    @inline(__always)
    init(
        text: UnsafePointer<UInt8>, limit: Int, seed: TableSeed, target: UnsafeMutablePointer<PathComponent>,
        capacity: Int
    ) {
        self.text = text
        self.limit = limit
        self.seed = seed
        self.target = target
        self.capacity = capacity
    }

    /// Splits the bytes from `start` to `end`, and says whether a `%` was among them.
    @inline(__always)
    mutating func split(from start: Int, to end: Int) -> Bool {
        // The host alone may be all that a table of fallbacks needs.
        guard count < capacity else { return false }
        var index = start
        var componentStart = start
        var percents: UInt64 = 0
        while index < end {
            let word = ByteWord.load(text, at: index, limit: limit)
            var slashes = ByteWord.find(UInt8(ascii: "/"), in: word)
            var found = ByteWord.find(UInt8(ascii: "%"), in: word)
            let left = end &- index
            if left < 8 {
                slashes &= ByteWord.mask(left)
                found &= ByteWord.mask(left)
            }
            percents |= found
            while slashes != 0 {
                let slash = index &+ slashes.trailingZeroBitCount &>> 3
                slashes &= slashes &- 1
                if slash > componentStart {
                    emit(from: componentStart, to: slash)
                    if count == capacity { return percents != 0 }
                }
                componentStart = slash &+ 1
            }
            index &+= 8
        }
        if end > componentStart { emit(from: componentStart, to: end) }
        return percents != 0
    }

    @inline(__always)
    private mutating func emit(from start: Int, to end: Int) {
        let length = end &- start
        let head = ByteWord.load(text, at: start, limit: limit) & ByteWord.mask(length)
        var tail: UInt64 = 0
        if length > 8 {
            tail = ByteWord.load(text, at: start &+ 8, limit: limit) & ByteWord.mask(length &- 8)
        }
        var hash = seed.hash(head: head, tail: tail)
        if length > 16 { hash = seed.hash(hash, rest: text + start, count: length) }
        let start = UInt32(truncatingIfNeeded: start)
        let count32 = UInt32(truncatingIfNeeded: length)
        target[count] = PathComponent(
            head: head, tail: tail, hash: hash, start: start, length: count32, textStart: start,
            textLength: count32)
        count &+= 1
    }

    /// Splits text with `%` in it: every component is decoded into `scratch`, which has space for all of it.
    ///
    /// With `lower` the text to compare is written there, at the same places and in lower case.
    mutating func splitEncoded(
        from start: Int, to end: Int, scratch: UnsafeMutablePointer<UInt8>,
        lower: UnsafeMutablePointer<UInt8>? = nil
    ) {
        var start = start
        while start < end, count < capacity {
            var next = start
            while next < end, text[next] != UInt8(ascii: "/") { next &+= 1 }
            if next > start {
                let raw = UnsafeBufferPointer(start: text + start, count: next &- start)
                let decoded = PercentCoding.decode(raw, into: scratch + start)
                if let lower {
                    for index in start..<start &+ decoded {
                        lower[index] = RouteScheme.lowercased(scratch[index])
                    }
                }
                let text = UnsafeBufferPointer(start: (lower ?? scratch) + start, count: decoded)
                var component = seed.component(text)
                component.start = UInt32(truncatingIfNeeded: start)
                component.length = UInt32(truncatingIfNeeded: next &- start)
                component.textStart = component.start
                target[count] = component
                count &+= 1
            }
            start = next &+ 1
        }
    }
}
