package import Waypost
import WaypostMessages

/// Asks an agent where URLs lead; nothing is opened.
package struct URLResolver {
    private let settings: BackendConfiguration
    private let wait: ReplyWait

    package init(_ settings: BackendConfiguration, _ wait: ReplyWait) {
        (self.settings, self.wait) = (settings, wait)
    }

    /// The answers in the order of the URLs, of which there may be any number.
    ///
    /// - Throws: ``BackendError`` when the agent refuses, such as one of an older version, or does not answer.
    package func resolve(
        _ urls: [String], parameters: [String: JSONValue] = [:], as caller: String? = nil, at agent: String
    ) async throws -> [ResolvedRoute] {
        let audience = Audience.agent(agent)
        func request(_ urls: some Collection<String>) throws -> CommandRequest {
            let part = Array(urls.prefix(ResolveRequest.maximumURLs))
            let wanted = ResolveRequest(part, parameters: parameters, caller: caller)
            return try CommandRequest(
                asking: .resolve(wanted), of: audience, settings, signer: settings.signer, wait)
        }
        let first = try request(urls)
        return try await BackendSession.with(
            settings, required: [first.replyFilter], useful: first.presenceFilters
        ) { session in
            var resolved: [ResolvedRoute] = []
            while resolved.count < urls.count {
                var reply: Reply?
                _ = try await request(urls.dropFirst(resolved.count)).perform(
                    in: session, isFirst: resolved.isEmpty
                ) {
                    reply = $0.reply
                }
                let found = try Self.answers(reply, of: agent)
                guard !found.isEmpty else {
                    throw BackendError(.refused, "\(agent) resolved none of the URLs")
                }
                resolved += found
            }
            return resolved
        }
    }

    private static func answers(_ reply: Reply?, of agent: String) throws(BackendError) -> [ResolvedRoute] {
        guard let reply, reply.code == .ok else {
            let code = reply.map { "\($0.code): " } ?? ""
            throw BackendError(.refused, "resolve at \(agent): \(code)\(reply?.detail ?? "refused")")
        }
        do throws(Failure) {
            var list: [ResolvedRoute] = []
            for json in reply.result["resolved"]?.arrayValue ?? [] { list.append(try ResolvedRoute(json)) }
            return list
        } catch {
            throw BackendError(.refused, "resolve at \(agent): the answer can't be read: \(error.detail)")
        }
    }
}
