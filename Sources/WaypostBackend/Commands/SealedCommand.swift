import Threading
import Waypost
import WaypostMessages

/// A command as it is sent, once or many times: its id, its times and its bytes are fixed.
///
/// Store it before it is first sent, and remove it when there is a reply. Sent again after a restart it is the same
/// command: the agent runs it once and repeats its reply.
///
///     let command = try backend.agent("k1").seal(.call("DoorService", "open", [5]))
///     try store.insert(command.id, JSONEncoder().encode(command))
///     let reply = try await backend.send(command).reply()
///     try store.delete(command.id)
public struct SealedCommand: Sendable, Hashable, Codable {
    /// The command's id.
    public let id: String
    /// The agent that it is for.
    public let agent: String
    /// When it must have been started, in milliseconds since 1970.
    public let expires: Int64
    /// The JSON that is sent, or the signed envelope around it.
    let payload: String
    /// Nil in what an older version stored, which knew none.
    private let isConditional: Bool?
    /// Its place in a trace, for the properties of MQTT 5; nil where there is none, and in what earlier releases stored.
    let trace: String?
    let traceState: String?

    init(
        _ command: Command, to agent: String, from name: String, signer: Signer?
    ) throws(BackendError) {
        (id, self.agent, expires) = (command.id, agent, command.expires)
        (trace, traceState) = (command.trace, command.traceState)
        let bytes = try signer?.payload(command, to: .agent(agent), from: name) ?? command.encoded()
        payload = String(decoding: bytes, as: UTF8.self)
        isConditional = command.isConditional ? true : nil
    }

    /// Whether it does not begin at once and everywhere, of which an older agent knows nothing.
    var asksForMore: Bool { isConditional == true }

    /// Until then the agent knows its id, and its reply; later a repetition would be a new command.
    var forgottenAt: Int64 { expires + Command.recognitionAfterExpiry }
}

extension Command {
    /// A command with these options.
    init(_ content: AgentCommand, _ options: SendOptions, isSealed: Bool) throws(BackendError) {
        try Self.check(options.id, "id")
        try Self.check(options.lane, "lane")
        let lifetime = options.lifetime.milliseconds
        guard (1_000...Command.longestLifetime).contains(lifetime) else {
            throw BackendError(.invalid, "the lifetime must be 1 s to 30 d; it is \(options.lifetime)")
        }
        let schedule = try Self.schedule(content.operation, options)
        let wait = try Self.wait(until: schedule?.after, lifetime)
        self.init(
            sending: content.operation, id: options.id, lifetime: wait + lifetime, lane: options.lane,
            schedule: schedule, isTimed: isSealed || schedule != nil)
        when = try Self.when(content.operation, options)
        trace = TraceParent.valid(options.trace)
        // Of a later version it would be another one.
        guard trace == options.trace else {
            throw BackendError(.invalid, "the trace \((options.trace ?? "").quoted) is no W3C traceparent")
        }
    }

    private static func schedule(
        _ operation: Operation, _ options: SendOptions
    ) throws(BackendError) -> CommandSchedule? {
        do throws(Failure) {
            let window = try options.window.map { text throws(Failure) in try TimeWindow(text) }
            let schedule = CommandSchedule(after: options.after, window: window)
            guard schedule == nil || !operation.needsNoTime else {
                throw Failure(.badField, "after and window are for open, call and navigate")
            }
            return schedule
        } catch {
            throw BackendError(.invalid, "\(error.detail)")
        }
    }

    private static func when(
        _ operation: Operation, _ options: SendOptions
    ) throws(BackendError) -> JSONValue? {
        guard let when = options.when else { return nil }
        do throws(Failure) {
            guard !operation.needsNoTime else {
                throw Failure(.badField, "when is for open, call and navigate")
            }
            _ = try RelocationCondition(ofCommand: when)
            return when
        } catch {
            throw BackendError(.invalid, "\(error.detail)")
        }
    }

    /// How long it is until then, in milliseconds.
    private static func wait(until after: Int64?, _ lifetime: Int64) throws(BackendError) -> Int64 {
        guard let after else { return 0 }
        let wait = max(0, after.subtracting(clamping: WallClock.now()))
        guard after >= 0, wait <= Command.longestLifetime - lifetime else {
            throw BackendError(
                .invalid,
                "with after \(after) and its lifetime it would wait for more than 30 days, for which no agent keeps it"
            )
        }
        return wait
    }

    private static func check(_ name: String?, _ what: String) throws(BackendError) {
        guard let name, !Name.isValid(name) else { return }
        throw BackendError(
            .invalid, "the \(what) \(name.quoted) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
    }
}
