/// The bytes of a JSON text while it is written.
///
/// An array would look with each byte whether it is shared, which takes longer than the writing. Each write here
/// stands behind a look at the capacity.
struct JSONBytes: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var count = 0

    init(reserving capacity: Int) {
        self.capacity = max(capacity, 1)
        start = .allocate(capacity: self.capacity)
    }

    deinit { start.deallocate() }

    /// A copy of what was written.
    var array: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

    mutating func append(_ byte: UInt8) {
        if count == capacity { grow(by: 1) }
        start[count] = byte
        count += 1
    }

    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let first = bytes.baseAddress else { return }
        if capacity - count < bytes.count { grow(by: bytes.count) }
        (start + count).update(from: first, count: bytes.count)
        count += bytes.count
    }

    mutating func append(text: StaticString) { text.withUTF8Buffer { append($0) } }

    private mutating func grow(by more: Int) {
        capacity = max(2 * capacity, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: start, count: count)
        start.deallocate()
        start = larger
    }
}
