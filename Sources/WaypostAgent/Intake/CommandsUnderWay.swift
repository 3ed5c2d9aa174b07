import Waypost

/// The stored commands that have no result on disk yet: one that comes again meanwhile need not ask the store.
///
/// After a connection was lost the broker delivers again what it had no acknowledgement for. Bounded by the commands
/// that may wait.
final class CommandsUnderWay: Sendable {
    /// What tells one command from another.
    struct Key: Sendable, Hashable {
        var topic: String
        var id: String
    }

    /// What is known of one.
    struct Known: Sendable {
        var sequence: Int64
        var digest: [UInt8]
    }

    private struct State {
        var known: [Key: Known] = [:]
        var keys: [Int64: Key] = [:]
    }

    private let state = Guarded(State())

    /// The command with this key, unless its result is on disk.
    subscript(key: Key) -> Known? { state.withLock { $0.known[key] } }

    /// A command is stored and will run.
    func began(_ key: Key, _ known: Known) {
        state.withLock { state in
            state.known[key] = known
            state.keys[known.sequence] = key
        }
    }

    /// Its result is on disk.
    func ended(_ sequence: Int64) {
        state.withLock { state in
            guard let key = state.keys.removeValue(forKey: sequence) else { return }
            state.known[key] = nil
        }
    }
}
