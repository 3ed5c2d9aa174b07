import CMalloc

/// Says when memory that nothing uses any more goes back to the system.
///
/// That is in the first pause after the start, and in the first one after much work. The allocator keeps what is
/// freed, for it may be wanted soon again; on a device that then idles for hours, other processes can use it.
struct SpareMemory {
    private static let muchWork = 1_000
    private var seen: Int?
    private var released: Int?

    /// Whether this is such a pause; asked at regular times.
    ///
    /// - Parameter commits: How many commits there have been so far.
    mutating func isDue(afterCommits commits: Int) -> Bool {
        defer { seen = commits }
        guard commits == seen else { return false }
        if let released, commits - released < Self.muchWork { return false }
        released = commits
        return true
    }

    /// Gives what the allocator has to spare back to the system.
    static func release() { waypost_release_memory() }
}
