import Threading
import Waypost

/// The commands that have no result on disk yet: one that comes again meanwhile does not need the store, which may not
/// have them yet.
///
/// After a connection was lost the broker delivers again what it had no acknowledgement for. Limited by the commands
/// that may wait.
final class InFlightCommands: Sendable {
    private struct State {
        var known: [CommandKey: (sequence: Int64, digest: CommandDigest)] = [:]
        var keys: [Int64: CommandKey] = [:]
    }

    private let state = Guarded(State())

    /// Takes those out whose first has no result yet; returns them with its sequence, or nil when it is another command.
    func takeDuplicates(_ commands: inout [ReceivedCommand]) -> [(ReceivedCommand, sequence: Int64?)] {
        var taken: [(ReceivedCommand, sequence: Int64?)] = []
        state.withLock { state in
            guard !state.known.isEmpty else { return }
            commands.removeAll { command in
                guard let known = state.known[command.key] else { return false }
                taken.append((command, known.digest.matches(command.digest) ? known.sequence : nil))
                return true
            }
        }
        return taken
    }

    /// Commands are stored or will be, and will run.
    func began(_ commands: [(ReceivedCommand, sequence: Int64)]) {
        guard !commands.isEmpty else { return }
        state.withLock { state in
            for (command, sequence) in commands {
                state.known[command.key] = (sequence, command.digest)
                state.keys[sequence] = command.key
            }
        }
    }

    /// Their results are on disk.
    func ended(_ sequences: [Int64]) {
        guard !sequences.isEmpty else { return }
        state.withLock { state in
            for sequence in sequences {
                if let key = state.keys.removeValue(forKey: sequence) { state.known[key] = nil }
            }
        }
    }

    /// Gives up the space for more than there are now.
    func releaseMemory() {
        state.withLock { if $0.keys.isEmpty { $0 = State() } }
    }
}
