import Waypost
import WaypostMessages

/// A group of agents, as a backend sees it.
///
///     let answer = try await backend.group("lobby").send(.open("kiosk://welcome"))
///     for agent in answer.silent { logger.warning("\(agent.name) did not reply") }
public struct GroupClient: Sendable {
    /// The group's name; every agent is in `all`.
    public let name: String
    let backend: Backend

    /// What a group answered.
    public struct Answer: Sendable {
        /// The replies, good and bad, one from each agent.
        public internal(set) var replies: [CommandReply] = []
        /// The members that are known and did not reply.
        public internal(set) var silent: [SilentAgent] = []
        /// Whether all known members did it for whom it was.
        public var isComplete: Bool {
            silent.isEmpty && replies.allSatisfy { $0.isOK || $0.code == .notMeant }
        }
    }

    /// Sends a command to all members, and waits for the replies of those that are online.
    ///
    /// With a deadline in the options those that are offline are waited for, too.
    /// - Throws: ``BackendError`` when nothing was sent, or no member is known.
    public func send(
        _ command: AgentCommand, _ options: SendOptions = SendOptions()
    ) async throws -> Answer {
        try checkName()
        let settings = backend.settings
        var content = try Command(command, options, isSealed: settings.signer != nil)
        let span = CommandSpan(&content, to: .group(name), settings)
        let request = try CommandRequest(
            content, to: .group(name), settings, signer: settings.signer,
            ReplyWait(options.deadline.map { TimeSpan(milliseconds: $0.milliseconds) }))
        return try await PublicCall.run {
            guard let span else { return try await Self.answer(to: request) }
            return try await span.around({ try await Self.answer(to: request) }) {
                span.ended($0.replies, silent: $0.silent.count)
            }
        }
    }

    private static func answer(to request: CommandRequest) async throws -> Answer {
        var answer = Answer()
        do {
            _ = try await request.perform { answer.replies.append($0) }
        } catch let error as BackendError where error.kind == .noReply && !error.silent.isEmpty {
            answer.silent = error.silent
        }
        return answer
    }

    func checkName() throws(BackendError) {
        guard Name.isValid(name) else {
            throw BackendError(
                .invalid, "a group's name is 1 to 64 characters of A-Z a-z 0-9 _ -; found \(name.quoted)")
        }
    }
}
