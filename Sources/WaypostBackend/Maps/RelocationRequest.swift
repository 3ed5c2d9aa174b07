import MQTTLink
import WaypostMessages

/// One relocation document and what agents say to it.
struct RelocationRequest {
    private let settings: BackendConfiguration
    private let audience: Audience
    private let relocation: Relocation
    private let wait: ReplyWait
    private let allowed: Set<MapObjection.Kind>

    /// - Parameters:
    ///   - settings: Their signer signs the document before it is sent.
    ///   - allowed: Whether it may take the place of a newer one that the broker keeps.
    init(
        _ relocation: Relocation, to audience: Audience, _ settings: BackendConfiguration, _ wait: ReplyWait,
        allowing allowed: Set<MapObjection.Kind>
    ) {
        (self.settings, self.audience) = (settings, audience)
        (self.relocation, self.wait, self.allowed) = (relocation, wait, allowed)
    }

    /// Publishes the document and hands over each answer as it comes.
    ///
    /// - Returns: how many answers came; 0 only when it did not wait.
    /// - Throws: ``BackendError`` with what is known of the agent when no answer came in time.
    func perform(_ each: (RelocationAnswer) -> Void) async throws -> Int {
        // What can't be sent is found before a connection is made.
        _ = try relocation.message(to: audience, settings.topics)
        return try await BackendSession.with(
            settings, required: [filter], useful: presenceFilters
        ) { session in
            var diagnosis = NoReplyDiagnosis(audience, topics: settings.topics)
            let relocation = try await prepared(session, &diagnosis)
            // What agents say already is an answer, too, where the same map is sent again.
            var said: [MQTTMessage] = []
            if relocation.kind == .map {
                try await session.replaceMap(with: relocation, of: audience, allowing: allowed) {
                    said.append($0)
                }
            } else {
                try await session.publish(try relocation.message(to: audience, settings.topics))
            }
            guard wait.isOn else { return 0 }
            let matcher = RelocationAnswerMatcher(relocation, for: audience, topics: settings.topics)
            return try await session.awaitAnswers(
                of: audience, wait, &diagnosis, by: \.agent, { matcher.answer(in: $0) }, after: said, each)
        }
    }

    /// The document as it is sent: signed, and a signed patch with the revision that the agent expects.
    private func prepared(
        _ session: BackendSession, _ diagnosis: inout NoReplyDiagnosis
    ) async throws -> Relocation {
        guard let signer = settings.signer, relocation.needsBase else {
            return try relocation.prepared(for: audience, settings)
        }
        let alarm = session.alarm(after: Self.limit)
        defer { alarm.cancel() }
        while case .message(let message) = try await session.next() {
            diagnosis.saw(message)
            guard case (_, .applied)? = settings.topics.outbound(message.topic), let json = message.json,
                let next = try? AppliedMap(json).nextPatch
            else { continue }
            // Signed, such a revision would leave none for later patches, and who wrote it is not certain.
            let (step, overflow) = next.revision.subtractingReportingOverflow(next.base)
            guard !overflow, next.base >= 0, (1...Signer.longestStep).contains(step) else {
                throw BackendError(
                    .notSent,
                    "\(audience) expects a patch with rev \(next.revision) on rev \(next.base); if that is right, "
                        + "\(Self.byHand)")
            }
            return try relocation.numbered(next).signed(by: signer, for: audience)
        }
        throw BackendError(
            .noReply,
            "\(audience) has not published what the next patch builds on; \(Self.byHand)")
    }

    private static let byHand: Wording =
        "\(library: "give the patch its base and rev", shell: "use --base and --rev")"

    /// How long the retained map in force is waited for.
    private static var limit: Duration { .seconds(10) }

    private var filter: String {
        switch audience {
        case .agent(let agent): settings.topics.applied(of: agent)
        case .group: settings.topics.applied(of: "+")
        }
    }

    private var presenceFilters: [String] { NoReplyDiagnosis.filters(of: audience, settings.topics) }
}
