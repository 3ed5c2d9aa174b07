/// A block of raw memory with an owner, so that snapshots of a table can share it until one of them changes it.
///
/// Safe to send because it is written only while `isKnownUniquelyReferenced` says that no one else can see it.
final class MemoryPage: @unchecked Sendable {
    let memory: UnsafeMutableRawPointer
    let byteCount: Int
    /// What the memory is part of; nil when the page has its own.
    private let extent: MemoryExtent?

    /// Zeroed memory of `byteCount` bytes.
    convenience init(byteCount: Int) {
        self.init(byteCount: byteCount, zeroedFrom: 0)
    }

    private init(byteCount: Int, zeroedFrom start: Int) {
        self.byteCount = byteCount
        extent = nil
        memory = .allocate(byteCount: byteCount, alignment: 64)
        (memory + start).initializeMemory(as: UInt8.self, repeating: 0, count: byteCount - start)
    }

    /// A block of `byteCount` bytes that begins with what `other` holds.
    convenience init(byteCount: Int, copying other: MemoryPage) {
        let common = min(byteCount, other.byteCount)
        self.init(byteCount: byteCount, zeroedFrom: common)
        memory.copyMemory(from: other.memory, byteCount: common)
    }

    /// A copy of `other` in an extent, or on its own when there is no space.
    init(copying other: MemoryPage, into extent: MemoryExtent) {
        byteCount = other.byteCount
        let space = extent.take(byteCount)
        self.extent = space == nil ? nil : extent
        memory = space ?? .allocate(byteCount: byteCount, alignment: 64)
        memory.copyMemory(from: other.memory, byteCount: byteCount)
    }

    /// Zeroed memory of an extent, or on its own when there is no space.
    init(byteCount: Int, in extent: MemoryExtent?) {
        self.byteCount = byteCount
        let space = extent?.take(byteCount)
        self.extent = space == nil ? nil : extent
        memory = space ?? .allocate(byteCount: byteCount, alignment: 64)
        if space == nil || extent?.isZeroed != true {
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
        }
    }

    /// The bytes that lie by themselves.
    var scatteredBytes: Int { extent == nil ? byteCount : 0 }

    deinit {
        if extent == nil { memory.deallocate() }
    }
}
