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

    init(
        _ command: Command, to agent: String, from name: String, signer: Signer?
    ) throws(BackendError) {
        (id, self.agent, expires) = (command.id, agent, command.expires)
        let bytes = try signer?.payload(command, to: .agent(agent), from: name) ?? command.encoded()
        payload = String(decoding: bytes, as: UTF8.self)
    }

    /// Until then the agent knows its id, and its reply; later a repetition would be a new command.
    var forgottenAt: Int64 { expires + Command.recognitionAfterExpiry }
}

extension Command {
    /// A command with these options.
    init(_ content: AgentCommand, _ options: SendOptions, isSealed: Bool) throws(BackendError) {
        try Self.check(options.id, "id")
        try Self.check(options.lane, "lane")
        let lifetime = options.lifetime.milliseconds
        guard (1_000...Command.maximumLifetime).contains(lifetime) else {
            throw BackendError(.invalid, "the lifetime must be 1 s to 1 d; it is \(options.lifetime)")
        }
        self.init(
            sending: content.operation, id: options.id, lifetime: lifetime, lane: options.lane,
            isTimed: isSealed)
    }

    private static func check(_ name: String?, _ what: String) throws(BackendError) {
        guard let name, !Name.isValid(name) else { return }
        throw BackendError(
            .invalid, "the \(what) \(name.quoted) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
    }
}
