import Waypost
import WaypostMessages

/// How far a stored command has come; each step is durable before the next.
enum InboxState: String, Sendable {
    case received
    /// It waits for the time at which it may begin.
    case scheduled
    /// A gate holds it: it has left its lane, and its handler has not begun.
    case held
    /// It goes on after a gate held it, beside its lane; its handler may have begun, and may begin again.
    case resumed
    /// Its handler may have begun, and must not begin again.
    case started
    case finished, acknowledged
    /// The row no longer fits its digest: it is not read any more and keeps its id from running again.
    case damaged
}

/// What the disk changed in a stored command.
enum InboxDamage: Sendable {
    /// Neither its id nor its topic can be trusted.
    case row
    /// It can be answered, but not run.
    case payload
    /// It has ended, and its reply is lost.
    case reply
}

/// A command that must be stored.
struct NewCommand: Sendable {
    /// Its row, see ``Store/Transaction/lastSequence()``; nil for the next one.
    var sequence: Int64?
    var topic: String
    var id: String
    /// The bytes of a ``CommandDigest``.
    var digest: [UInt8]
    var payload: [UInt8]
    var correlation: [UInt8]?
    var trace: String?
    var received: Int64
    var expires: Int64
    var keepUntil: Int64
    /// Starts before this delivery.
    var earlierStarts = 0
    /// Whether it waits for its time.
    var isScheduled = false
}

/// A step of a command before its result.
enum InboxStep: Sendable {
    /// Its handler is about to begin, and must not begin twice; the attempt counts from 1.
    case started(attempt: Int)
    /// As in ``InboxState``.
    case held, resumed
    /// Its time has come, or it waits for the next one.
    case due, scheduled
}

/// How a command ended.
struct InboxResult: Sendable {
    var sequence: Int64
    /// Which start that was, from 1.
    var attempt: Int
    /// The terminal reply.
    var reply: [UInt8]
    /// When the broker had it, in milliseconds since 1970, if it has it by now.
    var acknowledged: Int64?
}

/// A command as it is stored.
struct InboxRecord: Sendable {
    var sequence: Int64
    var topic: String
    var id: String
    var payload: [UInt8]
    var correlation: [UInt8]?
    var trace: String?
    var received: Int64
    var expires: Int64
    var state: InboxState
    var attempt: Int
    var reply: [UInt8]?
    var damage: InboxDamage?
}

/// How a command went, for the one who sent it; times in milliseconds since 1970.
struct CommandTimeline: Sendable {
    /// Its row.
    var sequence: Int64
    var state: InboxState
    var attempt: Int
    var received: Int64
    var expires: Int64
    /// Its last start.
    var started: Int64?
    var reply: Reply?
    /// When the broker was known to have the reply.
    var acknowledged: Int64?
}

/// What there is of a command that came before, under its topic and id.
struct KnownCommand: Sendable {
    var sequence: Int64
    var digest: CommandDigest
    /// The terminal reply, once it is stored.
    var reply: [UInt8]?
    /// Whether the disk has changed it.
    var isDamaged = false
}

/// How many rows some commands have, and how many bytes they hold.
struct InboxUsage: Sendable, Equatable {
    var topic: String
    var rows: Int
    var bytes: Int
}

/// What one sweep through the inbox did: which commands went, and where to go on.
struct PurgeResult: Sendable {
    var removed: [InboxUsage]
    /// Nil at the end of the table.
    var next: Int64?
}

extension NewCommand {
    /// Over all columns that never change but the payload, which has its own digest.
    var rowDigest: Int64 {
        InboxRecord.rowDigest(topic, id, digest, correlation, trace, received, expires, keepUntil)
    }
}

extension CommandTimeline {
    init(_ row: Row) {
        let record = InboxRecord(row, isPayloadRead: false)
        self.init(
            sequence: record.sequence,
            state: record.damage == nil ? record.state : .damaged, attempt: record.attempt,
            received: record.received, expires: record.expires, started: row.optionalInteger("started"),
            reply: record.reply.flatMap { try? Reply(JSONValue(parsing: $0, limits: .trustedFile)) },
            acknowledged: row.optionalInteger("acknowledged"))
    }
}

extension InboxRecord {
    init(_ row: Row, isPayloadRead: Bool = true) {
        self.init(
            sequence: row.integer("seq"), topic: row.text("topic"), id: row.text("id"),
            payload: isPayloadRead ? row.bytes("payload") ?? [] : [], correlation: row.bytes("correlation"),
            trace: row.optionalText("trace"), received: row.integer("received"),
            expires: row.integer("expires"),
            state: InboxState(rawValue: row.text("state")) ?? .damaged,
            attempt: Int(clamping: row.integer("attempt")), reply: row.bytes("reply"))
        damage = damage(row, isPayloadRead: isPayloadRead)
    }

    private func damage(_ row: Row, isPayloadRead: Bool) -> InboxDamage? {
        let digest = row.bytes("digest") ?? []
        let found = Self.rowDigest(
            topic, id, digest, correlation, trace, received, expires, row.integer("keep_until"))
        guard state != .damaged, found == row.integer("row_digest") else { return .row }
        switch state {
        case .received, .scheduled, .held, .resumed, .started:
            let isIntact = !isPayloadRead || CommandDigest(stored: digest).fits(payload)
            return isIntact ? nil : .payload
        case .finished, .acknowledged, .damaged:
            guard let reply, Self.replyDigest(sequence, reply) == row.integer("reply_digest") else {
                return .reply
            }
            return nil
        }
    }

    static func rowDigest(
        _ topic: String, _ id: String, _ digest: [UInt8], _ correlation: [UInt8]?, _ trace: String?,
        _ received: Int64, _ expires: Int64, _ keepUntil: Int64
    ) -> Int64 {
        RowDigest.of([
            .text(topic), .text(id), .blob(digest), .init(correlation), .init(trace), .integer(received),
            .integer(expires), .integer(keepUntil),
        ])
    }

    static func replyDigest(_ sequence: Int64, _ reply: [UInt8]) -> Int64 {
        RowDigest.of([.integer(sequence), .blob(reply)])
    }
}
