import Threading
import Waypost
import WaypostMessages

/// Asks agents for their maps: what is in force, and the documents of the past.
package struct MapReader: Sendable {
    /// What agents answered, and which did not.
    package struct Answers<Value> {
        /// By agent, in the order of the names.
        package var values: [(agent: String, value: Value)] = []
        /// Agents that refused, such as those of an older version.
        package var refusals: [CommandReply] = []
        /// Why others did not answer.
        package var silence: BackendError?
        /// Agents whose clock is wrong, and how far it is ahead, in milliseconds; the times are corrected by it.
        package var wrongClocks: [String: Int64] = [:]
    }

    /// More pages than a map of 2 000 entries has, and longer than all of them take.
    private static let limits = (pages: 200, time: Duration.seconds(60))

    private let settings: BackendConfiguration
    private let wait: ReplyWait

    init(_ settings: BackendConfiguration, _ wait: ReplyWait) {
        (self.settings, self.wait) = (settings.asking, wait)
    }

    /// The layers in force at one agent, or at those of a group.
    ///
    /// - Throws: ``BackendError`` when there is no broker.
    func layers(of audience: Audience, layer: String? = nil) async throws -> Answers<AgentMaps> {
        try await connected(to: audience) { try await layers(of: audience, layer: layer, in: $0) }
    }

    /// The same in a session that listens for the replies already.
    ///
    /// - Parameter known: What was read of the agents' presence so far; nil when it is still to come.
    func layers(
        of audience: Audience, layer: String? = nil, in session: BackendSession,
        knowing known: NoReplyDiagnosis? = nil
    ) async throws -> Answers<AgentMaps> {
        try await read(audience, MapsRequest(layer: layer), in: session, knowing: known) {
            agent, pages, error in
            try AgentMaps(agent, pages: pages, asOf: WallClock.now(), clockError: error)
        }
    }

    /// The last documents that were in force, of each layer the newest first.
    ///
    /// - Throws: ``BackendError`` when there is no broker.
    func history(
        of audience: Audience, layer: String? = nil
    ) async throws -> Answers<[MapVersion]> {
        try await connected(to: audience) { session in
            try await read(audience, MapsRequest(.history, layer: layer), in: session) {
                agent, pages, error in
                try pages.flatMap { $0["history"]?.arrayValue ?? [] }.map { json in
                    try Self.reading("the map history of \(agent)") { () throws(Failure) in
                        MapVersion(try MapRevision(json).corrected(by: error))
                    }
                }
            }
        }
    }

    /// One document whole.
    ///
    /// - Throws: ``BackendError`` when the agent does not have it, or does not answer.
    func document(
        _ subject: MapsRequest.Subject, layer: String, of agent: String
    ) async throws -> KeptMap {
        let audience = Audience.agent(agent)
        let answers = try await connected(to: audience) { session in
            try await read(audience, MapsRequest(subject, layer: layer), in: session) { agent, pages, _ in
                try Self.reading("the document of \(agent)") { () throws(Failure) in
                    try KeptMap(pages: pages)
                }
            }
        }
        if let silence = answers.silence { throw silence }
        if let refusal = answers.refusals.first {
            throw BackendError(.refused, "\(agent): \(refusal.reply.detail ?? refusal.reply.code.name)")
        }
        guard let document = answers.values.first?.value else {
            throw BackendError(.noReply, "no answer from \(agent)")
        }
        return document
    }

    // MARK: Pages

    private func connected<Value>(
        to audience: Audience, _ body: (BackendSession) async throws -> Value
    ) async throws -> Value {
        let request = try request(audience, MapsRequest())
        return try await BackendSession.with(
            settings, required: [request.replyFilter], useful: request.presenceFilters, body)
    }

    /// Reads all pages of each agent.
    private func read<Value>(
        _ audience: Audience, _ wanted: MapsRequest, in session: BackendSession,
        knowing known: NoReplyDiagnosis? = nil,
        _ value: (_ agent: String, _ pages: [JSONValue], _ clockError: Int64) throws -> Value
    ) async throws -> Answers<Value> {
        var pages: [String: [JSONValue]] = [:]
        let paged = try await PagedAnswers.read(
            audience, wanted, in: session, knowing: known, within: Self.limits, request
        ) { answer, page, _ in
            pages[answer.agent, default: []].append(answer.reply.result)
            guard let further = answer.reply.result["next"]?.boundedInt else { return nil }
            var following = page
            following.before = further
            return following
        }
        var answers = Answers<Value>(
            refusals: paged.refusals, silence: paged.silence, wrongClocks: paged.wrongClocks)
        for (agent, pages) in pages.sorted(by: { $0.key < $1.key }) where !paged.unfinished.contains(agent) {
            do {
                answers.values.append((agent, try value(agent, pages, answers.wrongClocks[agent] ?? 0)))
            } catch let error as BackendError {
                // What one says that can't be read keeps nothing of the others back.
                answers.silence = answers.silence ?? error
            }
        }
        return answers
    }

    private func request(_ audience: Audience, _ wanted: MapsRequest) throws -> CommandRequest {
        try CommandRequest(asking: .maps(wanted), of: audience, settings, signer: settings.signer, wait)
    }

    private static func reading<Value>(
        _ what: String, _ body: () throws(Failure) -> Value
    ) throws(BackendError) -> Value {
        do throws(Failure) {
            return try body()
        } catch {
            throw BackendError(.refused, "read \(what): \(error.detail)")
        }
    }
}

extension MapRevision {
    fileprivate func corrected(by clockError: Int64) -> MapRevision {
        var revision = self
        revision.from = from.subtracting(clamping: clockError)
        revision.until = until?.subtracting(clamping: clockError)
        return revision
    }
}
