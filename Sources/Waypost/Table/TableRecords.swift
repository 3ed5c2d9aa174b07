/// A place in the tree of components.
///
/// Record 0 is never used, so that 0 can mean none.
struct TableNode: BitwiseCopyable {
    /// The node behind a plain placeholder.
    var placeholder: UInt32 = 0
    /// The first entry of those whose pattern ends here; they are ordered by priority, then scheme before none.
    var terminal: UInt32 = 0
    /// The first of the non-literal edges, ordered as §3 wants: partial, typed, `*`, rest.
    var nonLiteral: UInt32 = 0
    /// How many literal edges leave; with none, no look-up is needed.
    ///
    /// A scheme's node counts its patterns here.
    var literals: UInt32 = 0

    var isEmpty: Bool { placeholder == 0 && terminal == 0 && nonLiteral == 0 && literals == 0 }

    /// The node that every pattern starts from.
    static let root: UInt32 = 1
    /// The node whose entries are the fallback of all.
    static let fallback: UInt32 = 2
    /// The node whose literal edges are the schemes; a scheme's node holds its fallback.
    static let schemes: UInt32 = 3
    /// The scheme of a URL that no pattern names.
    static let unknownScheme: UInt32 = .max
}

/// A literal edge.
///
/// Two of them fill a cache line; the first sixteen bytes of the text lie inside.
struct TableEdge: IndexPlace {
    /// From the lowest bit: the node it leaves, five bits of the length of its text, and the upper bits of its hash; 0
    /// in an empty place.
    private var word: UInt64 = 0
    var head: UInt64 = 0
    var tail: UInt64 = 0
    var child: UInt32 = 0
    /// The whole text, when it is longer than sixteen bytes.
    var text: UInt32 = 0

    private static let keyMask: UInt64 = ~HashIndex<Self>.hashMask

    /// An empty place.
    init() {}

    init(key: UInt64, hash: UInt64, head: UInt64, tail: UInt64, child: UInt32) {
        word = key | hash & HashIndex<Self>.hashMask
        self.head = head
        self.tail = tail
        self.child = child
    }

    /// The node that an edge leaves and the length of its text, as one word to compare; beyond sixteen bytes, all
    /// lengths are one.
    @inline(__always)
    static func key(_ parent: UInt32, length: UInt32) -> UInt64 {
        UInt64(parent) | UInt64(min(length, 17)) &<< 32
    }

    @inline(__always) var key: UInt64 { word & Self.keyMask }
    var parent: UInt32 { UInt32(truncatingIfNeeded: word) }
    /// Whether it has a `text`.
    var isLong: Bool { key &>> 32 > 16 }
    var hash: UInt64 { word }
    @inline(__always) var isEmpty: Bool { word == 0 }
    static var fullest: Int { 8 }
    static var growth: Int { 1 }
}

/// A number that is found by a hash: of the first entry of those whose pattern ends where a path does, or of a layout.
struct HashedNumber: IndexPlace {
    /// 0 in an empty place.
    var number: UInt32 = 0
    /// The upper half of its hash.
    private(set) var tag: UInt32 = 0

    /// An empty place.
    init() {}

    init(hash: UInt64, number: UInt32) {
        tag = Self.tag(hash)
        self.number = number
    }

    @inline(__always)
    static func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash &>> 32) }

    /// As much of the hash as the index needs.
    var hash: UInt64 { UInt64(tag) &<< 32 }
    @inline(__always) var isEmpty: Bool { number == 0 }
    // They are small and asked for first.
    static var fullest: Int { 6 }
    static var growth: Int { 2 }
}

/// An edge that is neither a literal nor a plain placeholder.
struct NonLiteralEdge: BitwiseCopyable {
    enum Kind: UInt8 {
        case partial, typed, wildcard, rest
    }

    var kind: Kind
    /// The converter's number plus one; 0 without one.
    var converter: UInt16
    var prefixLength: UInt16
    var suffixLength: UInt16
    /// How many bytes ``Parts`` take; 0 unless there are several placeholders.
    var furtherLength: UInt16 = 0
    /// Prefix and suffix, one behind the other, and then the further placeholders.
    var text: UInt32
    var child: UInt32
    var next: UInt32

    /// The bytes of prefix and suffix.
    var literalLength: Int { Int(prefixLength) &+ Int(suffixLength) }
    var textLength: Int { literalLength &+ Int(furtherLength) }

    /// The placeholders of a component behind the first, one behind the other: the length of the literal before it, its
    /// converter's number plus one, both in two bytes, and the literal.
    struct Parts {
        private var left: UnsafeBufferPointer<UInt8>.SubSequence

        init(_ bytes: UnsafeBufferPointer<UInt8>) { left = bytes[...] }

        mutating func next() -> (literal: UnsafeBufferPointer<UInt8>, converter: Int)? {
            guard left.count >= 4 else { return nil }
            let length = number()
            let converter = number()
            guard left.count >= length else { return nil }
            defer { left = left.dropFirst(length) }
            return (UnsafeBufferPointer(rebasing: left.prefix(length)), converter)
        }

        private mutating func number() -> Int {
            defer { left = left.dropFirst(2) }
            return Int(left[left.startIndex]) | Int(left[left.startIndex + 1]) &<< 8
        }

        static func write(_ part: NonLiteralKey.Part, to bytes: inout [UInt8]) {
            for number in [part.literal.count, part.converter] {
                bytes += [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number &>> 8)]
            }
            bytes += part.literal
        }
    }
}

/// One route of the table.
struct TableEntry: BitwiseCopyable {
    var priority: Int64
    var index: UInt32
    var next: UInt32
    /// The scheme's node; 0 when the pattern takes any.
    var scheme: UInt32
    var layout: UInt32
    /// The pattern as it was written.
    var text: UInt32 = 0
    var textLength: UInt16 = 0
    /// Where in the text the components begin, if they can be compared as they stand.
    var pathStart: UInt8 = 0
    var takesDeeper = false

    init(priority: Int64, index: UInt32, next: UInt32, scheme: UInt32, layout: UInt32) {
        self.priority = priority
        self.index = index
        self.next = next
        self.scheme = scheme
        self.layout = layout
    }
}

/// Which components a pattern captures.
///
/// Equal ones are shared, so there are few.
struct TableLayout: BitwiseCopyable {
    var count: UInt32
    /// The pattern's ``PatternShape`` as a number; 0 when it has none, or a text that can't be compared.
    var shape: UInt32
    /// Whether the last one is a rest.
    var endsWithRest: Bool
    /// The positions of the first eight, one in each byte.
    var positions: UInt64
    /// How many bytes each of these eight takes in the pattern's text, if it has a shape.
    var written: UInt64
}
