import Waypost

/// The stored commands that have no result on disk yet: one that comes again meanwhile need not ask the store.
///
/// After a connection was lost the broker delivers again what it had no acknowledgement for. Bounded by the commands
/// that may wait. Only the same bytes on the same topic are known here; what else an id was used for the store knows.
final class CommandsUnderWay: Sendable {
    private struct Known {
        var sequence: Int64
        var topic: String
        var digest: [UInt8]
    }

    private struct State {
        /// By the first bytes of the digest.
        var known: [UInt64: Known] = [:]
        var starts: [Int64: UInt64] = [:]
    }

    private let state = Guarded(State())

    /// The sequence of the command with these bytes, unless its result is on disk.
    func sequence(of digest: [UInt8], on topic: String) -> Int64? {
        let found = state.withLock { $0.known[Self.start(of: digest)] }
        guard let found, found.digest == digest, found.topic == topic else { return nil }
        return found.sequence
    }

    /// A command is stored and will run.
    func began(_ sequence: Int64, digest: [UInt8], on topic: String) {
        let start = Self.start(of: digest)
        state.withLock { state in
            state.known[start] = Known(sequence: sequence, topic: topic, digest: digest)
            state.starts[sequence] = start
        }
    }

    /// Its result is on disk.
    func ended(_ sequence: Int64) {
        state.withLock { state in
            guard let start = state.starts.removeValue(forKey: sequence),
                state.known[start]?.sequence == sequence
            else { return }
            state.known[start] = nil
        }
    }

    private static func start(of digest: [UInt8]) -> UInt64 {
        digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
