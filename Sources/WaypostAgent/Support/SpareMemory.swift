import CMemory

/// Says when memory that nothing uses any more goes back to the system.
///
/// That is in the first pause after the start, and in the first one after much work. The allocator keeps what is
/// freed, for it may be wanted soon again, and code stays mapped that ran once; on a device that then idles for hours,
/// other processes can use the memory.
struct SpareMemory {
    private static let muchWork = 1_000
    private var seen: Int?
    private var released: Int?

    /// Whether this is such a pause; asked at regular times.
    ///
    /// - Parameter changes: ``Store/changeCount``. Not the number of commits: under load one holds hundreds of commands.
    mutating func isDue(afterChanges changes: Int) -> Bool {
        defer { seen = changes }
        guard changes == seen else { return false }
        if let released, (changes - released).magnitude < Self.muchWork { return false }
        released = changes
        return true
    }

    /// Gives back to the system what the allocator has to spare, and the code that only the start or much work needed.
    static func release() {
        waypost_release_heap()
        waypost_release_program()
    }
}
