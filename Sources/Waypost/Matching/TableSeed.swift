import Threading

/// The secret seed of a table's hashes: with it, no one can choose patterns and URLs that collide.
struct TableSeed: BitwiseCopyable, Sendable {
    var first: UInt64
    var second: UInt64

    /// A secret of the system's.
    ///
    /// Not with `using`: handing on a generator that has no byte of its own looks to
    /// the thread sanitizer like a race at an address that belongs to no object.
    init() {
        var generator = Chance()
        first = generator.next()
        second = generator.next()
    }

    /// A known one.
    init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    @inline(__always)
    private static func mix(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }

    // MARK: Paths through the tree
    // Never 0, which an empty place has.

    /// The path that all patterns begin with, and the one to the fallbacks.
    static let root: UInt64 = 1
    static let fallback: UInt64 = 3

    /// The hash of a path that goes on with a literal.
    @inline(__always)
    func literal(_ text: TextKey, behind path: UInt64) -> UInt64 {
        let last = (text.last ^ second) &+ UInt64(truncatingIfNeeded: text.length)
        let hash = Self.mix(text.first ^ first ^ path, last)
        return (text.length > 16 ? self.hash(hash, middle: text) : hash) | 1
    }

    @inline(never)
    private func hash(_ start: UInt64, middle text: TextKey) -> UInt64 {
        var hash = start
        var index = 8
        while index < text.length &- 8 {
            hash = Self.mix(hash ^ ByteWord.load(text.start + index), second ^ 0xa076_1d64_78bd_642f)
            index &+= 8
        }
        return hash
    }

    /// The hash of a path that goes on with a plain placeholder.
    @inline(__always)
    func placeholder(behind path: UInt64) -> UInt64 { (path &<< 23 | path &>> 41) ^ first | 1 }
}
