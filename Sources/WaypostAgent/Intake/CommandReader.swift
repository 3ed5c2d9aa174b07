import MQTTLink
import Waypost
import WaypostMessages

/// Reads a command as far as it can be stored: length, JSON, signature, fields and clock.
struct CommandReader: Sendable {
    /// What was read; the command itself may be one that is stored and answered without being run.
    struct Read {
        var id: String
        /// Its `traceparent`: the field, and where there is none the property.
        var trace: String?
        var traceState: String?
        /// Whether something stands there that is none, and is ignored.
        var hasBadTrace: Bool
        var header: Result<CommandHeader, Failure>
        /// What it asks for; nil when that can't be read.
        var operation: Command.Operation?
        /// By what it is recognised, see `Command.content(of:_:)`.
        var content: [UInt8]
        /// Why its signatures are not accepted.
        var fault: Failure?
    }

    /// A sender's clock may be ahead by this much, in milliseconds.
    private static let maximumSkew: Int64 = 30_000

    let limits: AgentLimits
    let trusted: TrustedKeys
    let mustBeSigned: Bool
    var zone: LocalZone.Offset = LocalZone.system

    /// - Parameter isStored: no signature is checked of what is not going to be stored.
    /// - Throws: ``Failure`` for what can't be answered: too long, no JSON, without an id.
    func read(
        _ message: MQTTMessage, for audience: Audience, from sender: String, isStored: Bool, at now: Int64,
        isClockCorrect: Bool
    ) throws(Failure) -> Read {
        guard message.payload.count <= limits.commandBytes else {
            throw Failure(
                .tooLarge,
                "a command has at most \(limits.commandBytes) bytes; found \(message.payload.count)")
        }
        let payload =
            isStored
            ? try CommandPayload(
                message.payload, limits: limits.json, trusted: trusted, mustBeSigned: mustBeSigned,
                for: audience, from: sender, arrival: isClockCorrect ? now : nil,
                keptFor: limits.commandLifeMilliseconds)
            : try CommandPayload(stored: message.payload, limits: limits.json)
        let id = try Command.id(in: payload.fields)
        var operation: Command.Operation?
        let header = Result { () throws(Failure) in
            let command = try Command(
                id: id, fields: payload.fields, arrival: now, keptFor: limits.commandLifeMilliseconds)
            operation = command.operation
            try check(command, at: now, isClockCorrect: isClockCorrect)
            var header = CommandHeader(command)
            header.opening = try opening(of: command, at: now)
            return header
        }
        // The state belongs to the trace beside which it stands.
        let isInside = payload.fields["trace"] != nil
        let given = payload.fields["trace"] ?? message.property(TraceParent.property)
        let trace = TraceParent.valid(given?.stringValue)
        let givenState =
            isInside ? payload.fields[TraceState.property] : message.property(TraceState.property)
        let traceState = trace == nil ? nil : TraceState.valid(givenState?.stringValue)
        let isBad = given != nil && trace == nil || trace != nil && givenState != nil && traceState == nil
        return Read(
            id: id, trace: trace, traceState: traceState, hasBadTrace: isBad, header: header,
            operation: operation,
            content: Command.content(of: payload.fields, operation), fault: payload.fault)
    }

    /// Why a command is not stored unless its id is known already.
    ///
    /// What is rejected here may come again under the same id: it was not kept.
    ///
    /// - Parameters:
    ///   - busy: the refusal of a sender that sends too much.
    ///   - waiting: commands that wait or run at this moment.
    func refusal(
        of message: MQTTMessage, busy: Failure?, isOutboxFull: Bool, waiting: Int
    ) -> Failure? {
        if message.retain {
            return Failure(
                .retainedCommand, "commands are never retained; clear the topic \(message.topic)")
        }
        if let busy { return busy }
        if isOutboxFull {
            return Failure(.outbox, "the outbox is full; reports must reach the broker first")
        }
        return waiting >= limits.waitingCommands
            ? Failure(.busy, "\(limits.waitingCommands) commands are already waiting") : nil
    }

    /// When a command may begin; nil for one that may begin at once.
    private func opening(of command: Command, at now: Int64) throws(Failure) -> Range<Int64>? {
        guard let schedule = command.schedule else { return nil }
        guard let opening = schedule.opening(from: now, until: command.expires, zone) else {
            throw Failure(
                .badField,
                "its time does not come before it expires at \(Timestamp.rfc3339(command.expires)): see after and window"
            )
        }
        return opening
    }

    /// Why a command was refused when it came, of which all can be read; nil for one that was not.
    ///
    /// The agent ended before it could say so. What is refused is stored without any time in which it might begin.
    ///
    /// - Parameters:
    ///   - expires: As it was stored.
    ///   - received: The clock when it came.
    func refusal(of command: Command, stored expires: Int64, at received: Int64) -> Failure? {
        guard expires <= received, command.expires > expires else { return nil }
        do throws(Failure) {
            try check(command, at: received, isClockCorrect: true)
            _ = try opening(of: command, at: received)
            try check(command, at: received, isClockCorrect: false)
            return nil
        } catch {
            return error
        }
    }

    private func check(_ command: Command, at now: Int64, isClockCorrect: Bool) throws(Failure) {
        guard isClockCorrect || !command.hasAbsoluteExpiry && command.schedule == nil else {
            // A signature holds only until a time.
            let advice =
                mustBeSigned || command.schedule != nil
                ? "set it: \(mustBeSigned ? "a signed command has an exp" : "after and window go by it")"
                : "set it, or send the command with a ttl instead of exp"
            throw Failure(.clock, "the agent's clock is wrong; \(advice)")
        }
        guard isClockCorrect else { return }
        if let at = command.at, at > now + Self.maximumSkew {
            throw Failure(
                .clockSkew, "the sender's clock is \(TimeText.span(at - now)) ahead of the agent's")
        }
    }
}

extension MQTTMessage {
    /// A user property; an empty text, which is no trace, when there are several of the name.
    fileprivate func property(_ name: String) -> JSONValue? {
        let values = properties.user.filter { $0.name == name }.map(\.value)
        return values.count > 1 ? "" : values.first.map { .string($0) }
    }
}
