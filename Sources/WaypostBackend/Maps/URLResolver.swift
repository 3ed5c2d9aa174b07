import Waypost
import WaypostMessages

/// Asks an agent where URLs lead; nothing is opened.
struct URLResolver {
    /// What an agent answered.
    struct Answer: Sendable {
        /// In the order of the URLs.
        var routes: [ResolvedRoute] = []
        /// The maps under which all of it was answered; nil where another one came meanwhile, and from an older agent.
        var inForce: [AppliedMap.Layer]?
    }

    private let settings: BackendConfiguration
    private let wait: ReplyWait

    init(_ settings: BackendConfiguration, _ wait: ReplyWait) {
        (self.settings, self.wait) = (settings.asking, wait)
    }

    /// The answers in the order of the URLs, of which there may be any number.
    ///
    /// - Throws: ``BackendError`` when the agent refuses, such as one of an older version, or does not answer.
    func resolve(
        _ urls: [String], parameters: [String: JSONValue] = [:], as caller: String? = nil, at agent: String
    ) async throws -> [ResolvedRoute] {
        try await answer(urls, parameters: parameters, as: caller, at: agent).routes
    }

    /// The same, and under which maps it was answered.
    func answer(
        _ urls: [String], parameters: [String: JSONValue] = [:], as caller: String? = nil, at agent: String
    ) async throws -> Answer {
        try await answer(urls, at: agent) { ResolveRequest($0, parameters: parameters, caller: caller) }
    }

    /// What calls would run, in their order.
    func resolve(
        calls: [RelocationEntry.Method], parameters: [String: JSONValue], at agent: String
    ) async throws -> [ResolvedRoute] {
        try await answer(calls, at: agent) { ResolveRequest(calls: $0, parameters: parameters) }.routes
    }

    private func answer<Wanted: Sendable>(
        _ urls: [Wanted], at agent: String, _ asking: ([Wanted]) -> ResolveRequest
    ) async throws -> Answer {
        let audience = Audience.agent(agent)
        func request(_ urls: some Collection<Wanted>) throws -> CommandRequest {
            try CommandRequest(
                asking: .resolve(asking(Array(urls.prefix(ResolveRequest.maximumURLs)))), of: audience,
                settings, signer: settings.signer, wait)
        }
        let first = try request(urls)
        return try await BackendSession.with(
            settings, required: [first.replyFilter], useful: first.presenceFilters
        ) { session in
            var answer = Answer()
            while answer.routes.count < urls.count {
                var reply: Reply?
                let isFirst = answer.routes.isEmpty
                _ = try await request(urls.dropFirst(answer.routes.count)).perform(
                    in: session, isFirst: isFirst
                ) {
                    reply = $0.reply
                }
                let found = try Self.answer(reply, of: agent)
                guard !found.routes.isEmpty else {
                    throw BackendError(.refused, "\(agent) resolved none of the URLs")
                }
                answer.routes += found.routes
                if isFirst || answer.inForce != found.inForce {
                    answer.inForce = isFirst ? found.inForce : nil
                }
            }
            return answer
        }
    }

    private static func answer(_ reply: Reply?, of agent: String) throws(BackendError) -> Answer {
        guard let reply, reply.code == .ok else {
            let code = reply.map { "\($0.code): " } ?? ""
            throw BackendError(.refused, "resolve at \(agent): \(code)\(reply?.detail ?? "refused")")
        }
        do throws(Failure) {
            var answer = Answer()
            for json in reply.result["resolved"]?.arrayValue ?? [] {
                answer.routes.append(try ResolvedRoute(json))
            }
            answer.inForce = try reply.result["inForce"]?.arrayValue?.map { (json) throws(Failure) in
                try AppliedMap.Layer(json)
            }
            return answer
        } catch {
            throw BackendError(.refused, "resolve at \(agent): the answer can't be read: \(error.detail)")
        }
    }
}
