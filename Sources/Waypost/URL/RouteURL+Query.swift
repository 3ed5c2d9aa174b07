extension RouteURL {
    /// The pairs of a query, decoded when asked for.
    ///
    /// Pairs are separated by `&`, a key ends at its first `=`. A key without `=` is no pair, nor is an empty key.
    /// `+` stays `+`. A URL that stands in a value unencoded is kept up to the next `&`.
    public struct Query: Sendable {
        /// One pair, decoded.
        package struct Pair: Sendable, Hashable {
            /// What stands before the first `=`.
            package var key: String
            /// What follows it; may be empty.
            package var value: String

            /// A pair of decoded texts.
            init(key: String, value: String) {
                self.key = key
                self.value = value
            }
        }

        /// The query as it was written, without `?`.
        package let text: String

        init(text: String) {
            self.text = text
        }

        /// All pairs in the order in which they were written.
        package var pairs: [Pair] {
            var all: [Pair] = []
            forEach { all.append(Pair(key: PercentCoding.decode($0), value: PercentCoding.decode($1))) }
            return all
        }

        /// Whether the query has no pairs.
        var isEmpty: Bool {
            var isEmpty = true
            forEach { _, _ in isEmpty = false }
            return isEmpty
        }

        /// The last value of a key; nil when it is absent.
        public subscript(key: String) -> String? {
            var last: String?
            visit(key) { last = PercentCoding.decode($0) }
            return last
        }

        /// All values of a key, in the order in which they were written.
        public func allValues(of key: String) -> [String] {
            var values: [String] = []
            visit(key) { values.append(PercentCoding.decode($0)) }
            return values
        }

        private func visit(_ key: String, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
            forEach { found, value in
                if found.contains(UInt8(ascii: "%")) {
                    if PercentCoding.decode(found).utf8.elementsEqual(key.utf8) { body(value) }
                } else if found.elementsEqual(key.utf8) {
                    body(value)
                }
            }
        }

        func forEach(_ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Void) {
            text.utf8Span.span.withUnsafeBufferPointer { bytes in
                for (key, value) in WrittenPairs(bytes: bytes) { body(key, value) }
            }
        }

        /// The key and the value of each pair, as they were written; valid as long as the bytes are.
        struct WrittenPairs: Sequence, IteratorProtocol {
            let bytes: UnsafeBufferPointer<UInt8>
            private var start = 0

            init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

            /// One allocation does for the few that most URLs have.
            var underestimatedCount: Int {
                var (rest, count) = (self, 0)
                while count < 8, rest.next() != nil { count += 1 }
                return count
            }

            mutating func next() -> (key: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>)? {
                while start < bytes.count {
                    let first = start
                    var end = first
                    var equals = -1
                    while end < bytes.count, bytes[end] != UInt8(ascii: "&") {
                        if equals < 0, bytes[end] == UInt8(ascii: "=") { equals = end }
                        end &+= 1
                    }
                    start = end &+ 1
                    if equals > first {
                        return (
                            UnsafeBufferPointer(rebasing: bytes[first..<equals]),
                            UnsafeBufferPointer(rebasing: bytes[equals &+ 1..<end])
                        )
                    }
                }
                return nil
            }
        }
    }
}

extension RouteURL.Query: Hashable {
    /// Whether both hold the same pairs in the same order.
    public static func == (one: Self, other: Self) -> Bool {
        one.text == other.text || one.pairs == other.pairs
    }

    /// Feeds the pairs.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(pairs)
    }
}
