import MQTTLink
import Waypost
import WaypostFleet
package import WaypostMessages
import WaypostTools

/// Finds out what a document would change.
package struct MapPlanner {
    /// The most agents whose routes are read: more take longer than anybody waits.
    private static let maximumRead = 64
    /// How long retained documents, and the answers of agents that are online, are waited for.
    private static let limit = Duration.seconds(5)
    private static let answerLimit = TimeSpan.seconds(3)

    private let settings: BackendConfiguration
    private let audience: Audience

    package init(_ settings: BackendConfiguration, for audience: Audience) {
        (self.settings, self.audience) = (settings, audience)
    }

    /// What to subscribe to beside the presence, useful and not required.
    private var filters: [String] {
        let topics = settings.topics
        let presence = NoReplyDiagnosis.filters(of: audience, topics) + [topics.map(of: audience)]
        guard case .agent(let agent) = audience else { return presence }
        return presence + [topics.routes(of: agent), topics.contract(of: agent)]
    }

    /// Reads what the broker keeps, and asks the agents that are online.
    ///
    /// - Throws: ``BackendError`` when there is no broker.
    package func plan(_ relocation: Relocation) async throws -> MapPlan {
        let reader = MapReader(settings, ReplyWait(atMost: Self.answerLimit))
        let topics = settings.topics
        let replies = topics.reply(of: audience.agentFilter, to: settings.name)
        return try await BackendSession.with(settings, required: [], useful: filters + [replies]) { session in
            var roster = Roster(topics: topics)
            var diagnosis = NoReplyDiagnosis(audience, topics: topics)
            var documents = KeptDocuments(topics: topics)
            var retained: [UInt8]?
            _ = try await session.readRetained(within: Self.limit) { message in
                roster.saw(message)
                diagnosis.saw(message)
                documents.saw(message)
                if message.topic == topics.map(of: audience), message.retain { retained = message.payload }
            }
            var plan = MapPlan(audience: audience)
            plan.seesMembers = session.connection.subscriptions.first?.isGranted == true
            plan.members = members(of: roster)
            guard !plan.members.isEmpty else {
                guard plan.seesMembers else { return plan }
                if case .agent = audience, try await session.subscribe(topics.state(of: "+")) {
                    _ = try await session.readRetained(within: Self.limit) { roster.saw($0) }
                }
                plan.nearest = nearest(in: roster)
                return plan
            }
            let read = Array(plan.members.prefix(Self.maximumRead))
            if case .group = audience {
                for agent in read {
                    _ = try await session.subscribe(topics.routes(of: agent))
                    _ = try await session.subscribe(topics.contract(of: agent))
                }
                _ = try await session.readRetained(within: Self.limit) { documents.saw($0) }
            }
            var maps: [String: AgentMaps] = [:]
            if plan.members.contains(where: { roster.members[$0]?.isOnline == true }) {
                maps = try await self.maps(reader, session, diagnosis)
            }
            plan.fill(relocation, read, maps, documents, retained)
            return plan
        }
    }

    /// What agents tell of their maps; nothing where the sender may not ask.
    private func maps(
        _ reader: MapReader, _ session: BackendSession, _ diagnosis: NoReplyDiagnosis
    ) async throws -> [String: AgentMaps] {
        do {
            let answers = try await reader.layers(of: audience, in: session, knowing: diagnosis)
            return Dictionary(answers.values.map { ($0.agent, $0.value) }) { $1 }
        } catch let error as BackendError where error.kind != .noBroker {
            return [:]
        }
    }

    private func members(of roster: Roster) -> [String] {
        switch audience {
        case .agent(let agent): roster.members[agent] == nil ? [] : [agent]
        case .group(let group): roster.members.filter { $0.value.isIn(group) }.keys.sorted()
        }
    }

    private func nearest(in roster: Roster) -> [String] {
        switch audience {
        case .agent(let agent): NearestNames.find(agent, among: roster.members.keys.sorted())
        case .group(let group):
            NearestNames.find(
                group, among: Set(roster.members.values.flatMap { $0.health?.groups ?? [] }).sorted())
        }
    }
}

extension MapPlan {
    fileprivate mutating func fill(
        _ relocation: Relocation, _ read: [String], _ maps: [String: AgentMaps], _ documents: KeptDocuments,
        _ kept: [UInt8]?
    ) {
        let isPatch = relocation.kind == .patch
        guard let document = relocation.document else { return }
        hasNoRevision = !isPatch && document.revision == nil
        if !isPatch, let kept, !kept.isEmpty {
            let known = Relocation(document: kept, .map).document
            let digest = SHA256.label(SHA256.digest(of: kept))
            if digest != relocation.digest {
                retained = Retained(revision: known?.revision, digest: digest, entries: known?.entries)
                retainedRemovals =
                    known.map {
                        RelocationChanges(from: $0.entries, to: document.entries).removed
                    } ?? 0
            }
        }
        let layer = relocation.layer(of: audience)
        // Of an agent that does not answer, what the broker keeps for it is the best that is known.
        let keptLayers = retained.flatMap { kept in
            kept.entries.map { [MapLayer(layer, $0, revision: kept.revision)] }
        }
        for agent in members {
            guard read.contains(agent), let layers = maps[agent]?.layers.map(\.wire) ?? keptLayers else {
                unknown.append(agent)
                continue
            }
            var diff = MapDiff(
                of: document, isPatch: isPatch, to: layer, over: layers, documents.contract(of: agent))
            if let place = diffs.firstIndex(where: { $0.isSame(as: diff) }) {
                diffs[place].agents.append(agent)
            } else {
                diff.agents = [agent]
                diffs.append(diff)
            }
        }
    }
}

extension MapLayer {
    fileprivate init(_ name: String, _ entries: [RelocationEntry], revision: Int64?) {
        self.init(
            name: name, revision: revision, count: entries.count,
            entries: entries.enumerated().map { index, entry in
                Entry(number: index + 1, content: entry.json, state: .active, reason: nil)
            })
    }
}

/// What the broker keeps of several agents about their routes and services.
private struct KeptDocuments {
    private let topics: Topics
    private var agents: [String: ContractDocuments] = [:]

    init(topics: Topics) { self.topics = topics }

    mutating func saw(_ message: MQTTMessage) {
        switch topics.outbound(message.topic) {
        case (let agent, .routes)?, (let agent, .contract)?:
            agents[agent, default: ContractDocuments(of: agent, topics: topics)].saw(message)
        default: break
        }
    }

    func contract(of agent: String) -> RouterContract? { agents[agent]?.contract }
}

extension Audience {
    /// The level of a topic that stands for these agents.
    package var agentFilter: String { if case .agent(let agent) = self { agent } else { "+" } }
}
