import MQTTLink
import Waypost
import WaypostFleet
import WaypostMessages

/// Reads and writes the document of an agent's groups.
struct GroupsRequest {
    private let agent: String
    private let settings: BackendConfiguration
    private let wait: ReplyWait

    /// - Parameter settings: Their signer signs what is written.
    init(_ agent: String, _ settings: BackendConfiguration, _ wait: ReplyWait = ReplyWait()) {
        (self.agent, self.settings, self.wait) = (agent, settings, wait)
    }

    private var topic: String { settings.topics.groups(of: agent) }

    /// What the broker keeps.
    private struct Kept {
        var payload: [UInt8] = []
        var document: GroupsDocument?
        var digest: String?
        var isSigned = false
        var health: Health?
        var diagnosis: NoReplyDiagnosis

        /// The document that may still come into force; nil where the agent has refused the one that the broker keeps.
        var pending: GroupsDocument? {
            let said = health?.saidGroups
            let isRefused = digest != nil && said?.refused?.digest == digest
            return isRefused || said?.revision ?? 0 >= document?.revision ?? 0 ? nil : document
        }

        /// What a change begins with.
        var base: (revision: Int64?, added: [String], removed: [String]) {
            if let pending { return (pending.revision, pending.added, pending.removed) }
            let said = health?.saidGroups
            return (said?.revision, said?.added ?? [], said?.removed ?? [])
        }

        /// The newest document that counts, or one that was refused where none did, and what the agent says of its groups.
        func groups(of agent: String) -> AgentGroups {
            var groups = AgentGroups(agent: agent)
            let said = health?.saidGroups
            groups.groups = health?.groups
            groups.own = said?.own
            groups.isApplied = pending == nil && said?.revision != nil
            (groups.revision, groups.added, groups.removed) = base
            if groups.revision == nil, let document {
                (groups.revision, groups.added, groups.removed) =
                    (document.revision, document.added, document.removed)
            }
            return groups
        }
    }

    private func read(_ session: BackendSession) async throws -> Kept {
        var kept = Kept(diagnosis: NoReplyDiagnosis(.agent(agent), topics: settings.topics))
        try await session.readRetained { message in
            kept.diagnosis.saw(message)
            switch message.topic {
            case topic where !message.payload.isEmpty:
                kept.payload = message.payload
                kept.digest = SHA256.label(SHA256.digest(of: message.payload))
                kept.document = try? GroupsDocument(message.payload, for: agent, limits: .trustedFile)
                kept.isSigned = message.json.map { SignedEnvelope.isOne($0) } ?? false
            case settings.topics.health(of: agent): kept.health = message.json.map { Health($0) }
            default: break
            }
        }
        return kept
    }

    private func reading<Value>(
        required: [String] = [], _ body: (BackendSession) async throws -> Value
    ) async throws -> Value {
        let filters = NoReplyDiagnosis.filters(of: .agent(agent), settings.topics) + [topic]
        return try await BackendSession.with(
            settings, required: required, useful: filters.filter { !required.contains($0) }, body)
    }

    private func check(_ kept: Kept) async throws {
        guard kept.document == nil, !kept.diagnosis.knowsReceivers else { return }
        let roster = try await settings.roster(within: .seconds(30))
        guard let fault = AgentSelection(names: [agent]).fault(in: roster) else { return }
        throw BackendError(.unknownReceiver, fault)
    }

    /// What is known of the agent's groups; nothing is written.
    ///
    /// - Throws: ``BackendError`` when the broker knows no such agent.
    func groups() async throws -> AgentGroups {
        let kept = try await reading { try await read($0) }
        try await check(kept)
        return kept.groups(of: agent)
    }

    /// Writes the document that follows from a change, unless the broker keeps it already, and waits until the agent says
    /// what it makes of it.
    ///
    /// - Parameter allowsNew: Whether the agent need not be known yet.
    /// - Throws: ``BackendError``; of kind `refused` with the code when the agent did not take it, of kind `noReply` when
    ///   it does not answer: then the broker keeps it for the agent.
    func change(_ change: GroupsChange, allowsNew: Bool = false) async throws -> AgentGroups {
        try check(change)
        return try await reading(required: [settings.topics.health(of: agent)]) { session in
            var kept = try await read(session)
            if !allowsNew { try await check(kept) }
            var groups = kept.groups(of: agent)
            let base = try base(of: change, kept)
            let (added, removed) = change.applied(to: base.added, base.removed)
            // What the broker keeps already needs no other rev, unless it is to be signed now.
            let isKept = kept.pending != nil || kept.digest == kept.health?.saidGroups?.digest
            if kept.document != nil, isKept, (base.added, base.removed) == (added, removed),
                kept.isSigned || settings.signer == nil
            {
                return groups
            }
            let payload = try payload(base.revision, added, removed, over: kept)
            try await session.publish(.json(topic, payload, retain: true))
            guard wait.isOn else {
                (groups.added, groups.removed, groups.isApplied) = (added, removed, false)
                groups.revision = (base.revision ?? 0) + 1
                return groups
            }
            // The same versions lack both.
            if let health = kept.health, !health.limits.isEmpty, health.limits["commandLife"] == nil {
                throw BackendError(
                    .noReply,
                    "no reply: \(agent) is of version \(health.version), which reads no document of its groups; the broker keeps it until the agent is updated"
                )
            }
            let digest = SHA256.label(SHA256.digest(of: payload))
            var refusal: Failure?
            _ = try await session.awaitAnswers(
                of: .agent(agent), wait, &kept.diagnosis, by: \.agent,
                { answer(in: $0, to: digest) }
            ) { answer in
                kept.document = try? GroupsDocument(payload, for: agent, limits: .trustedFile)
                (kept.health, refusal) = (answer.health, answer.refusal)
            }
            guard let refusal else { return kept.groups(of: agent) }
            var error = BackendError(
                .refused, "\(agent) refused the document of its groups: \(refusal.code): \(refusal.detail)")
            error.code = refusal.code
            throw error
        }
    }

    /// What the change begins with.
    ///
    /// What the agent has not taken yet is signed again only where a key that is trusted here has signed it.
    private func base(
        of change: GroupsChange, _ kept: Kept
    ) throws(BackendError) -> (revision: Int64?, added: [String], removed: [String]) {
        guard let pending = kept.pending, let signer = settings.signer else { return kept.base }
        let document = KeptDocument(groups: kept.payload, of: agent)
        guard change.startsAnew else {
            _ = try document.content(for: signer, orElse: Self.anew)
            return kept.base
        }
        guard document.refusal(by: signer) != nil else { return kept.base }
        // Nothing of it stays. Its number counts, for an agent that trusts no keys may take it meanwhile; one that leaves
        // none for later documents does not.
        let said = kept.health?.saidGroups?.revision
        let step = pending.revision.subtracting(clamping: said ?? 0)
        return (step <= Signer.longestStep ? pending.revision : said, [], [])
    }

    private static let anew: Wording =
        "begin anew, with all groups that are added and removed (\(library: "GroupsChange(startsAnew: true)", shell: "--clear")), or name the key that signed it: \(library: "Signer.trust", shell: "--trust-key")"

    private func answer(
        in message: MQTTMessage, to digest: String
    ) -> (agent: String, health: Health, refusal: Failure?)? {
        guard message.topic == settings.topics.health(of: agent),
            let health = message.json.map({ Health($0) }),
            let said = health.saidGroups
        else { return nil }
        if said.digest == digest { return (agent, health, nil) }
        guard let refused = said.refused, refused.digest == digest else { return nil }
        return (agent, health, Failure(refused.code, refused.detail))
    }

    private func payload(
        _ revision: Int64?, _ added: [String], _ removed: [String], over kept: Kept
    ) throws(BackendError) -> [UInt8] {
        guard added.count <= GroupsDocument.maximumNames, removed.count <= GroupsDocument.maximumNames else {
            throw BackendError(
                .invalid, "at most \(GroupsDocument.maximumNames) groups are added, and as many removed")
        }
        let last = revision ?? 0
        guard last < Fields.largestInteger else {
            throw BackendError(.notSent, "the rev of the groups of \(agent) is the highest there is")
        }
        let document = GroupsDocument(
            revision: last + 1, audience: agent, added: added, removed: removed, by: settings.name)
        guard let signer = settings.signer else {
            _ = try KeptDocument(groups: kept.payload, of: agent).content(for: nil, orElse: Self.anew)
            return document.encoded()
        }
        return try signer.envelope(document.encoded(), type: SignedEnvelope.groupsType)
    }

    private func check(_ change: GroupsChange) throws(BackendError) {
        for name in change.adding + change.removing where !Name.isGroup(name) {
            throw BackendError(
                .invalid,
                "a group's name is 1 to 64 characters of A-Z a-z 0-9 _ -, and not all; found \(name.quoted)")
        }
        if let both = change.adding.first(where: change.removing.contains) {
            throw BackendError(.invalid, "the group \(both) can't be added and removed at once")
        }
    }
}
