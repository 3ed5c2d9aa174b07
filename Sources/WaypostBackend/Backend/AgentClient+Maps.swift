public import Waypost
import WaypostMessages

/// What an agent says of a relocation document.
public struct RelocationAnswer: Sendable {
    /// The agent.
    public let agent: String
    /// Why it was refused; nil when it is in force.
    public let refusal: Rejection?
    /// The entries that have no effect in the agent's build, each with the reason; numbers begin with 0.
    public let inactive: [(entry: Int, reason: String)]

    init(_ result: RelocationResult) {
        agent = result.agent
        refusal = result.refused.map { Rejection($0.code, $0.detail) }
        inactive = result.inactive.map { ($0.index, $0.reason) }
    }

    /// Whether the document is in force.
    public var isApplied: Bool { refusal == nil }
}

extension AgentClient {
    /// Sends a relocation document as a file has it: a whole map with a `rev`, a patch, or bare entries.
    ///
    /// - Throws: ``BackendError`` when it is none, was not sent, or when there is no answer in time.
    public func relocate(
        document: [UInt8], deadline: Duration? = nil
    ) async throws(BackendError) -> RelocationAnswer {
        let answers = try await backend.relocate(document, to: .agent(name), deadline)
        guard let answer = answers.first else { throw BackendError(.noReply, "no answer from \(name)") }
        return answer
    }

    /// Adds entries to the map in force, as a patch.
    public func relocate(
        _ entries: [JSONValue], deadline: Duration? = nil
    ) async throws(BackendError) -> RelocationAnswer {
        try await relocate(document: JSONValue.array(entries).serialized(), deadline: deadline)
    }
}

extension GroupClient {
    /// Sends a whole map, with its `rev`, to all members; the broker retains it for those that are offline.
    public func relocate(
        document: [UInt8], deadline: Duration? = nil
    ) async throws(BackendError) -> [RelocationAnswer] {
        try await backend.relocate(document, to: .group(name), deadline)
    }
}

extension Backend {
    fileprivate func relocate(
        _ document: [UInt8], to audience: Audience, _ deadline: Duration?
    ) async throws(BackendError) -> [RelocationAnswer] {
        let request = RelocationRequest(
            try Relocation(file: document, name: "the document"), to: audience, settings,
            signer: settings.signer, ReplyWait(deadline.map { TimeSpan(milliseconds: $0.milliseconds) }))
        var answers: [RelocationAnswer] = []
        do {
            _ = try await request.perform { answers.append(RelocationAnswer($0)) }
        } catch {
            let error = BackendError(error)
            guard error.kind == .noReply, !answers.isEmpty else { throw error }
        }
        return answers
    }
}

extension AgentClient {
    /// Asks where URLs would lead now, with the maps in force; nothing is opened.
    ///
    /// - Parameter caller: Who would open them; this backend unless given.
    public func resolve(
        _ urls: [String], caller: String? = nil
    ) async throws(BackendError) -> [ResolvedRoute] {
        var resolved: [ResolvedRoute] = []
        while resolved.count < urls.count {
            let rest = urls[resolved.count...].prefix(ResolveRequest.maximumURLs)
            let command = Command(
                sending: .resolve(ResolveRequest(Array(rest), caller: caller)),
                isTimed: backend.settings.signer != nil)
            let page = try await send(command, SendOptions()).result().result["resolved"]?.arrayValue ?? []
            guard !page.isEmpty else { break }
            resolved += page.prefix(rest.count).map(ResolvedRoute.init)
        }
        return resolved
    }
}
