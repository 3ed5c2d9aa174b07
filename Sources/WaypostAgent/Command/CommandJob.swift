import MQTTLink
import Synchronization
import Waypost
import WaypostMessages
import WaypostSpans

/// A command that waits or runs; it is stored, or will be.
///
/// While it waits it is kept as the bytes that came, and what it asks for is decoded when its turn comes, unless it has a
/// part of the ``DecodedSpace``.
///
/// A class, because it goes from one to the next and never changes: each copy would take all its parts along.
final class CommandJob: Sendable {
    /// What it asks for.
    enum Content: Sendable {
        case decoded(Command.Operation)
        /// It is in the payload, and is decoded when its turn comes; what runs in no lane never waits like this.
        case encoded
        /// It can't be read, or must not be run: it ends with this result.
        case ended(CommandResult)
    }

    /// Its row in the inbox, which may not be there yet.
    let sequence: Int64
    let sender: String
    let address: ReplyAddress
    let header: CommandHeader
    let payload: [UInt8]
    let content: Content
    /// The space that what is decoded takes.
    private let lease: DecodedSpace.Lease?
    /// When it must have been started, on the monotonic clock, in milliseconds.
    let startBy: Int64
    /// When its turn must have come: when its window closes, or as ``startBy``.
    let turnBy: Int64
    /// Whether it waits for its time, and is on disk as scheduled.
    let isScheduled: Bool
    /// Which start this is, from 1: the agent may have ended while an earlier one ran.
    let attempt: Int
    /// Whether the agent did not stop cleanly before this: the command may be one that ends it.
    let isSuspect: Bool

    var id: String { header.id }
    var lane: String { header.lane }
    /// Whether it came from a program of this machine, and its reply goes there.
    var isLocal: Bool { sender == Self.localSender }
    /// Who those are of; no client of the broker can be it.
    static let localSender = "local"
    /// The command in reports.
    var reference: CommandReference { CommandReference(id: id, trace: address.trace) }
    /// Nil until it is decoded.
    var operation: Command.Operation? { if case .decoded(let operation) = content { operation } else { nil } }
    /// How it ends without being run; nil for what has to run.
    var end: CommandResult? { if case .ended(let result) = content { result } else { nil } }

    init(
        sequence: Int64, sender: String, address: ReplyAddress, header: CommandHeader, payload: [UInt8] = [],
        _ content: Content, lease: DecodedSpace.Lease? = nil, startBy: Int64, turnBy: Int64? = nil,
        isScheduled: Bool = false, attempt: Int = 1, isSuspect: Bool = false
    ) {
        self.sequence = sequence
        self.sender = sender
        self.address = address
        self.header = header
        self.payload = payload
        self.content = content
        self.lease = lease
        self.startBy = startBy
        self.turnBy = min(turnBy ?? startBy, startBy)
        self.isScheduled = isScheduled
        self.attempt = attempt
        self.isSuspect = isSuspect
    }

    /// The same command with the agent's place in its trace, where it has one.
    func within(_ trace: TraceCarrier?) -> CommandJob {
        CommandJob(
            sequence: sequence, sender: sender, address: address.within(trace), header: header,
            payload: payload,
            content, lease: lease, startBy: startBy, turnBy: turnBy, isScheduled: isScheduled,
            attempt: attempt,
            isSuspect: isSuspect)
    }

    /// The same command once its time has come.
    func due(startBy: Int64, turnBy: Int64) -> CommandJob {
        CommandJob(
            sequence: sequence, sender: sender, address: address, header: header, payload: payload, content,
            startBy: startBy, turnBy: turnBy, attempt: attempt, isSuspect: isSuspect)
    }

    /// Decodes what it asks for.
    ///
    /// - Throws: ``Failure`` for bytes that the disk changed, or limits that are lower than when it was stored.
    func decode(_ limits: JSONLimits) throws(Failure) -> Command.Operation {
        try Command.Operation(CommandPayload(stored: payload, limits: limits).fields)
    }
}

/// How much of what waits or runs stays decoded: most of it waits for a moment only, and is not decoded twice then.
///
/// Decoded it takes up to 80 times as much, so that this is at most 5 MB.
final class DecodedSpace: Sendable {
    /// In bytes of payloads.
    static let limit = 65_536

    private let used = Atomic(0)

    /// A part of it, as long as it is kept.
    final class Lease: Sendable {
        private let space: DecodedSpace
        private let bytes: Int

        fileprivate init(_ bytes: Int, of space: DecodedSpace) { (self.bytes, self.space) = (bytes, space) }

        deinit { space.used.subtract(bytes, ordering: .relaxed) }
    }

    /// Nil when there is no space for so many bytes.
    func lease(_ bytes: Int) -> Lease? {
        let used = used.add(bytes, ordering: .relaxed).newValue
        let lease = Lease(bytes, of: self)
        return used <= Self.limit ? lease : nil
    }
}

/// A command as far as intake could read it: it has an id and can be stored, also when it can't be run.
///
/// A class for the reason of ``CommandJob``.
final class ReceivedCommand: Sendable {
    let key: CommandKey
    let sender: String
    let digest: CommandDigest
    let payload: [UInt8]
    let address: ReplyAddress
    /// The command, or why it is stored and answered without being run.
    let header: Result<CommandHeader, Failure>
    /// What it asks for; nil when that is decoded again later.
    let operation: Command.Operation?
    /// The space that it takes.
    let lease: DecodedSpace.Lease?
    /// Why it is not even stored, when its id is not known yet: retained, not signed, too fast.
    let rejection: Failure?
    /// When it must have been started, in milliseconds since 1970.
    let expires: Int64
    /// Whether it must be on disk before it runs.
    let isStoredFirst: Bool
    /// Starts before this delivery.
    let earlierStarts: Int

    var topic: String { key.topic }
    var id: String { key.id }
    /// Whether it is stored as one that waits for its time.
    let isScheduled: Bool
    /// The command in reports.
    var reference: CommandReference { CommandReference(id: id, trace: address.trace) }

    init(
        _ message: MQTTMessage, from sender: String, id: String, content: [UInt8], address: ReplyAddress,
        header: Result<CommandHeader, Failure>, operation: Command.Operation?,
        lease: DecodedSpace.Lease? = nil, rejection: Failure?, at now: Int64, isStoredFirst: Bool,
        earlierStarts: Int
    ) {
        key = CommandKey(topic: message.topic, id: id)
        payload = message.payload
        digest = CommandDigest(payload: message.payload, content: content)
        self.sender = sender
        self.address = address
        self.header = header
        self.operation = operation
        self.lease = lease
        self.rejection = rejection
        expires = (try? header.get().expires) ?? now
        isScheduled = ((try? header.get())?.opening?.lowerBound ?? now) > now
        self.isStoredFirst = isStoredFirst
        self.earlierStarts = earlierStarts
    }

    /// Its job, once it has a row.
    ///
    /// - Parameters:
    ///   - given: Where its reply goes; as it came unless given.
    ///   - attempts: after so many starts it is not run again.
    ///   - monotonic: the time of `now` on the monotonic clock.
    func job(
        _ sequence: Int64, address given: ReplyAddress? = nil, attempts: Int, at now: Int64,
        _ monotonic: Int64
    ) -> CommandJob {
        let address = given ?? address
        return switch header {
        case .failure(let rejection):
            CommandJob(
                sequence: sequence, sender: sender, address: address,
                header: CommandHeader(id: id, expires: now),
                .ended(CommandResult(rejection, origin: .intake)), startBy: monotonic)
        case .success(let header):
            CommandJob(
                sequence: sequence, sender: sender, address: address, header: header, payload: payload,
                earlierStarts >= attempts
                    ? .ended(.interrupted(after: earlierStarts))
                    : isScheduled ? .encoded : operation.map(CommandJob.Content.decoded) ?? .encoded,
                lease: isScheduled ? nil : lease, startBy: monotonic + (header.expires - now),
                turnBy: header.opening.map { monotonic + ($0.upperBound - now) }, isScheduled: isScheduled,
                attempt: earlierStarts + 1)
        }
    }
}

/// What makes a command the same one.
struct CommandKey: Hashable, Sendable {
    let topic: String
    let id: String
    /// The key is looked for several times, and two texts are long to hash.
    private let hash: Int

    init(topic: String, id: String) {
        (self.topic, self.id) = (topic, id)
        var hasher = Hasher()
        hasher.combine(topic)
        hasher.combine(id)
        hash = hasher.finalize()
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

/// What a command without a result does at this moment; times in milliseconds since 1970.
struct CommandProgress: Sendable, Equatable {
    /// Which start this is or will be, from 1.
    var attempt: Int
    /// How many commands of its lane come before it; nil once its turn has come.
    var ahead: Int?
    /// Since when it runs; nil while it waits for its turn or for a thread.
    var runningSince: Int64?
    /// Since when a gate holds it; nil when none does.
    var heldSince: Int64?
    /// When it begins, where it waits for its time and that is known; by the wall clock.
    var due: Int64?
}
