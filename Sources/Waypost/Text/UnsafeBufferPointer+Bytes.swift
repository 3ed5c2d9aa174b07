import Glibc

extension UnsafeBufferPointer<UInt8> {
    /// Whether both have the same bytes.
    @inline(__always)
    func hasSameBytes(as other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        guard let start = baseAddress, let others = other.baseAddress else { return true }
        return memcmp(start, others, count) == 0
    }
}
