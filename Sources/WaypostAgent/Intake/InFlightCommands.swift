import Threading
import Waypost

/// The stored commands that have no result on disk yet: one that comes again meanwhile does not need the store.
///
/// After a connection was lost the broker delivers again what it had no acknowledgement for. Limited by the commands
/// that may wait. Here only the same bytes on the same topic are known; the store knows all uses of an id.
final class InFlightCommands: Sendable {
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

    /// Takes those out whose first has no result yet; returns them with its sequence.
    func takeRepeated(_ commands: inout [ReceivedCommand]) -> [(ReceivedCommand, sequence: Int64)] {
        var repeated: [(ReceivedCommand, sequence: Int64)] = []
        state.withLock { state in
            guard !state.known.isEmpty else { return }
            commands.removeAll { command in
                guard let known = state.known[Self.start(of: command.digest)],
                    known.digest == command.digest, known.topic == command.topic
                else { return false }
                repeated.append((command, known.sequence))
                return true
            }
        }
        return repeated
    }

    /// Commands are stored and will run.
    func began(_ commands: [(ReceivedCommand, sequence: Int64)]) {
        guard !commands.isEmpty else { return }
        state.withLock { state in
            for (command, sequence) in commands {
                let start = Self.start(of: command.digest)
                state.known[start] = Known(
                    sequence: sequence, topic: command.topic, digest: command.digest)
                state.starts[sequence] = start
            }
        }
    }

    /// Their results are on disk.
    func ended(_ sequences: [Int64]) {
        guard !sequences.isEmpty else { return }
        state.withLock { state in
            for sequence in sequences {
                guard let start = state.starts.removeValue(forKey: sequence),
                    state.known[start]?.sequence == sequence
                else { continue }
                state.known[start] = nil
            }
        }
    }

    private static func start(of digest: [UInt8]) -> UInt64 {
        digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
