/// The search for the common case: literals and plain placeholders, nothing encoded, one priority for all.
///
/// It reads the path only once, component by component, eight bytes at a time: the word in which `/` is found is
/// also what is hashed and compared. Whatever it is not made for, such as a `%`, is left to ``TableSearch``.
struct QuickSearch {
    let reader: UnsafeMutablePointer<TableReader>
    let text: UnsafePointer<UInt8>
    /// How many bytes may be read from `text`, at least eight; `end` is where the path ends.
    let limit: Int
    let end: Int
    let scheme: UInt32
    /// Start and length of each component that a placeholder took, by its position.
    let spans: UnsafeMutablePointer<UInt64>

    /// What `find` returns when it met something it is not made for.
    static let unsuited: UInt32 = .max

    private static let slashes = UInt64(UInt8(ascii: "/")) &* ByteWord.ones

    /// The eight bytes at `position`, of which those behind `limit` are not meant to be used.
    @inline(__always)
    private func load(_ position: Int) -> UInt64 {
        let start = min(position, limit &- 8)
        return ByteWord.load(text + start) &>> UInt64(truncatingIfNeeded: (position &- start) &* 8)
    }

    /// 0x80 where the component ends that goes on with `word`, and perhaps in higher bytes; 0 if it does not end.
    @inline(__always)
    private func ends(_ word: UInt64) -> UInt64 {
        let difference = word ^ Self.slashes
        return (difference &- ByteWord.ones) & ~difference & ByteWord.highs
    }

    /// A word and its ends, when `left` bytes are left of the path; its end is an end too, whatever follows.
    @inline(__always)
    private func read(_ position: Int, left: Int) -> (word: UInt64, ends: UInt64) {
        if left >= 8 {
            let word = ByteWord.load(text + position)
            return (word, ends(word))
        }
        let word = load(position)
        return (word, ends(word) | 0x80 &<< UInt64(truncatingIfNeeded: left &* 8))
    }

    /// The first entry whose pattern takes what lies from `position` on, 0 without one, or `unsuited`.
    ///
    /// `path` is the hash of the way to `start`.
    func find(_ start: UInt32, path: UInt64, position: Int, depth: Int) -> UInt32 {
        var index = start
        var path = path
        var position = position
        var depth = depth
        while true {
            let left = end &- position
            if left <= 0 { return terminal(index) }
            var (head, headEnd) = read(position, left: left)
            var tail: UInt64 = 0
            var length: Int
            if headEnd & 0x80 != 0 {
                position &+= 1
                continue
            }
            if headEnd != 0 {
                head &= (headEnd ^ (headEnd &- 1)) &>> 8
                length = headEnd.trailingZeroBitCount &>> 3
            } else {
                let tailEnd: UInt64
                (tail, tailEnd) = read(position &+ 8, left: left &- 8)
                if tailEnd != 0 {
                    tail &= (tailEnd ^ (tailEnd &- 1)) &>> 8
                    length = 8 &+ tailEnd.trailingZeroBitCount &>> 3
                } else {
                    length = longLength(position)
                }
            }
            let node = reader.pointee.node(index)
            if node.pointee.special != 0 { return Self.unsuited }
            let placeholder = node.pointee.placeholder
            let next = position &+ length &+ 1
            if node.pointee.literals != 0 {
                var hash = reader.pointee.seed.hash(head: head, tail: tail)
                if length > 16 { hash = reader.pointee.seed.hash(hash, rest: text + position, count: length) }
                hash = EdgeIndex.hash(path, hash)
                let child = reader.pointee.child(
                    of: index, hash: hash, head: head, tail: tail, text: text + position,
                    length: UInt32(truncatingIfNeeded: length))
                if child != 0 {
                    if placeholder == 0 {
                        index = child
                        path = EdgeIndex.path(hash)
                        position = next
                        depth &+= 1
                        continue
                    }
                    let found = find(child, path: EdgeIndex.path(hash), position: next, depth: depth &+ 1)
                    if found != 0 { return found }
                }
            }
            if placeholder == 0 { return 0 }
            spans[depth] = UInt64(truncatingIfNeeded: position) | UInt64(truncatingIfNeeded: length) &<< 32
            index = placeholder
            path = EdgeIndex.placeholderPath(path)
            position = next
            depth &+= 1
        }
    }

    // The length of a component of sixteen bytes or more.
    @inline(never)
    private func longLength(_ position: Int) -> Int {
        var index = position &+ 16
        while true {
            let wordEnd = read(index, left: end &- index).ends
            if wordEnd != 0 { return index &- position &+ wordEnd.trailingZeroBitCount &>> 3 }
            index &+= 8
        }
    }

    /// The first entry of a list that takes the URL's scheme.
    @inline(__always)
    func terminal(_ index: UInt32) -> UInt32 {
        var next = reader.pointee.node(index).pointee.terminal
        while next != 0 {
            let entry = reader.pointee.entry(next)
            if entry.pointee.scheme == 0 || entry.pointee.scheme == scheme { return next }
            next = entry.pointee.next
        }
        return 0
    }
}
