import Waypost

/// The commands without a result on disk, by their ids, and what each sender holds: decisions only, no disk.
///
/// The store may not have the commands in flight yet; after a connection was lost the broker sends again what it had no
/// acknowledgement for. They are limited by the commands that may wait.
struct LedgerState: Sendable {
    /// What is known of the id of a command that came.
    enum Finding: Sendable, Equatable {
        /// It never came, or was forgotten; it has this row now, and space.
        case new(sequence: Int64)
        /// The same command came before; the reply is there once it is stored.
        case duplicate(sequence: Int64, reply: [UInt8]?)
        /// The id was used before, for a different command.
        case conflict
        /// The id was used before; what is stored of it is damaged.
        case damaged
        /// It is new, and must not be stored.
        case rejected(Failure)
        /// It is new, and there is no space for it.
        case noSpace(SenderShares.Refusal)

        /// Why it is answered without being stored; nil where it is not, and where the reason is one of space.
        func refusal(_ id: String) -> Failure? {
            switch self {
            case .conflict: Failure(.idReused, "id \(id) was already used for a different command")
            case .damaged:
                Failure(
                    .interrupted,
                    "id \(id) was received before, and its stored data is damaged on the disk; it is not run again"
                )
            case .rejected(let rejection): rejection
            case .new, .duplicate, .noSpace: nil
            }
        }
    }

    /// A command without a result; of an earlier run only the store knows the key.
    private struct Open {
        var key: CommandKey?
        var sender: String
        var bytes: Int
        /// Whether it came before its time.
        var isScheduled: Bool
    }

    var shares: SenderShares
    private var keys: [CommandKey: KnownCommand] = [:]
    private var open: [Int64: Open] = [:]
    /// The row of the last command.
    private var lastSequence: Int64

    /// - Parameter lastSequence: the last row of the store.
    init(shares: SenderShares, lastSequence: Int64) {
        self.shares = shares
        self.lastSequence = lastSequence
    }

    /// Whether each command without a result has its space.
    private var isConsistent: Bool { keys.count <= open.count && shares.total.waiting == open.count }

    /// Ids of an earlier run.
    mutating func storedEarlier(_ use: InboxUsage, of sender: String) {
        defer { assert(isConsistent) }
        shares.storedEarlier(use, of: sender)
    }

    /// A command of an earlier run has no result.
    mutating func unfinishedEarlier(
        _ sequence: Int64, _ bytes: Int, isScheduled: Bool = false, of sender: String
    ) {
        defer { assert(isConsistent) }
        open[sequence] = Open(key: nil, sender: sender, bytes: bytes, isScheduled: isScheduled)
        shares.unfinishedEarlier(bytes, isScheduled: isScheduled, of: sender)
    }

    /// What is said of a command that came before and has no result on disk; nil for any other.
    func inFlight(_ command: ReceivedCommand) -> Finding? {
        keys[command.key].map { Self.finding(command, beside: $0) }
    }

    /// A command came.
    ///
    /// - Parameters:
    ///   - stored: what the store has under its id, unless it is in flight.
    ///   - refusal: why the store takes nothing new.
    mutating func commandReceived(
        _ command: ReceivedCommand, stored: KnownCommand?, refusal: Failure?
    ) -> Finding {
        defer { assert(isConsistent) }
        // Known first, whatever else is wrong with it: a known id never gets a second, different terminal status. In
        // flight it is when it came twice in one batch.
        if let known = keys[command.key] ?? stored { return Self.finding(command, beside: known) }
        if let rejection = command.rejection ?? refusal { return .rejected(rejection) }
        let bytes = command.payload.count
        if let shortage = shares.reserve(bytes, isScheduled: command.isScheduled, for: command.sender) {
            return .noSpace(shortage)
        }
        lastSequence += 1
        keys[command.key] = KnownCommand(sequence: lastSequence, digest: command.digest)
        open[lastSequence] = Open(
            key: command.key, sender: command.sender, bytes: bytes, isScheduled: command.isScheduled)
        return .new(sequence: lastSequence)
    }

    /// Of a command whose id is known.
    static func finding(_ command: ReceivedCommand, beside known: KnownCommand) -> Finding {
        if known.isDamaged { return .damaged }
        guard known.digest.matches(command.digest) else { return .conflict }
        return .duplicate(sequence: known.sequence, reply: known.reply)
    }

    /// New commands could not be stored.
    mutating func notCommitted(_ sequences: [Int64]) {
        defer { assert(isConsistent) }
        for sequence in sequences {
            guard let command = close(sequence) else { continue }
            shares.release(command.bytes, isScheduled: command.isScheduled, of: command.sender)
        }
    }

    /// The results of commands are on disk; the bytes are those of the replies.
    mutating func resultsCommitted(_ results: [(sequence: Int64, bytes: Int)]) {
        defer { assert(isConsistent) }
        for (sequence, bytes) in results {
            guard let command = close(sequence) else { continue }
            shares.ended(
                command.bytes, isScheduled: command.isScheduled, reply: bytes, of: command.sender)
        }
    }

    private mutating func close(_ sequence: Int64) -> Open? {
        guard let command = open.removeValue(forKey: sequence) else { return nil }
        if let key = command.key { keys[key] = nil }
        return command
    }

    /// Gives up the space for more than there are now.
    mutating func releaseMemory() { if open.isEmpty { (keys, open) = ([:], [:]) } }
}
