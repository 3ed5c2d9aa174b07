/// A block of raw memory with an owner, so that snapshots of a table can share it until one of them changes it.
///
/// Safe to send because it is written only while `isKnownUniquelyReferenced` says that nobody else can see it.
final class MemoryPage: @unchecked Sendable {
    let memory: UnsafeMutableRawPointer
    let byteCount: Int

    /// Zeroed memory of `byteCount` bytes.
    init(byteCount: Int) {
        self.byteCount = byteCount
        memory = .allocate(byteCount: byteCount, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    }

    /// A block of `byteCount` bytes that begins with what `other` holds.
    convenience init(byteCount: Int, copying other: MemoryPage) {
        self.init(byteCount: byteCount)
        memory.copyMemory(from: other.memory, byteCount: min(byteCount, other.byteCount))
    }

    deinit {
        memory.deallocate()
    }
}
