import MQTTLink
import Waypost
import WaypostMessages
import WaypostTools

/// What is known of agents before a map is sent to them: who is there, what they open, and which maps are in force.
///
/// It is read from what the broker keeps, so it needs no right to command. An agent is asked only for what stands
/// nowhere, such as the entries of a patch.
struct MapSurvey: Sendable {
    /// Agents with the same routes and the same maps.
    struct Build: Sendable {
        /// Their names, in order.
        var agents: [String]
        /// What is in force; nil when that is not known.
        var layers: [MapLayer]?
        /// What they open; nil when the broker does not keep it.
        var contract: RouterContract?
        /// Why it is not known what is in force.
        var gap: String?
    }

    /// The most kinds of agents of which one is asked: more take longer than anybody waits.
    private static let maximumAsked = 32
    /// How many agents of one kind are asked, one after another, as long as none answers.
    private static let tries = 3
    /// How long an answer may take, of an agent that is online.
    private static let answerLimit = TimeSpan.seconds(3)

    private(set) var roster: Roster
    /// Whether the broker shows who is there.
    private(set) var seesMembers = true
    /// The kinds of agents, the largest first.
    private(set) var builds: [Build] = []
    /// What was lost while it was read.
    private(set) var notices: [String] = []
    private let audience: Audience
    private let topics: Topics
    /// The documents that the broker keeps, by digest, and which agent has which.
    private var documents: [String: MQTTMessage] = [:]
    private var routes: [String: String] = [:]
    private var contracts: [String: String] = [:]
    private var kept: [String: [UInt8]] = [:]

    private init(_ audience: Audience, _ topics: Topics) {
        (self.audience, self.topics) = (audience, topics)
        roster = Roster(topics: topics, keepsTexts: false)
    }

    /// The agents that the map is for.
    var members: [String] {
        switch audience {
        // A map in force alone may be what another program left there.
        case .agent(let agent):
            roster.members[agent].map { $0.state != nil || $0.health != nil } == true ? [agent] : []
        case .group(let group): roster.members.filter { $0.value.isIn(group) }.keys.sorted()
        }
    }

    /// The map that the broker keeps for them; nil when it keeps none, or does not show it.
    var keptMap: [UInt8]? { kept[topics.map(of: audience)] }

    // MARK: Reading

    /// Reads what the broker keeps, and asks for the rest.
    ///
    /// - Parameter saw: Called with each message.
    /// - Throws: ``BackendError`` when there is no broker.
    static func read(
        of audience: Audience, _ settings: BackendConfiguration, within limit: Duration,
        byteLimit: Int = BackendSession.byteLimit, _ saw: (MQTTMessage) -> Void = { _ in }
    ) async throws -> MapSurvey {
        let topics = settings.topics
        return try await BackendSession.with(
            settings, required: [], useful: [topics.state(of: audience.agentFilter)], byteLimit: byteLimit
        ) { session in
            var survey = MapSurvey(audience, topics)
            survey.seesMembers = session.connection.subscriptions.first?.isGranted == true
            let reading = try await session.readAsMuch(
                of: filters(of: audience, topics, settings.name), within: limit
            ) { message in
                survey.saw(message)
                saw(message)
            }
            survey.roster.cutOff = reading.fault
            try await survey.readMissingMaps(in: session, within: limit)
            survey.notices = session.loss.notices + [survey.roster.gap].compactMap(\.self)
            survey.sortIntoBuilds()
            try await survey.ask(settings, in: session)
            return survey
        }
    }

    /// Beside the states.
    private static func filters(of audience: Audience, _ topics: Topics, _ sender: String) -> [String] {
        let agent = audience.agentFilter
        let own = [
            topics.health(of: agent), topics.applied(of: agent), topics.routes(of: agent),
            topics.contract(of: agent), topics.reply(of: agent, to: sender),
        ]
        return switch audience {
        case .agent: own + [topics.map(of: audience)]
        case .group: own + topics.mapFilters
        }
    }

    private mutating func saw(_ message: MQTTMessage) {
        roster.saw(message)
        guard !message.payload.isEmpty else { return }
        if topics.isOfMap(message.topic), message.retain {
            kept[message.topic] = message.payload
            _ = keep(message)
        }
        guard let (agent, content) = topics.outbound(message.topic) else { return }
        switch content {
        case .routes: routes[agent] = keep(message)
        case .contract: contracts[agent] = keep(message)
        default: break
        }
    }

    private mutating func keep(_ message: MQTTMessage) -> String {
        let digest = SHA256.label(SHA256.digest(of: message.payload))
        if documents[digest] == nil { documents[digest] = message }
        return digest
    }

    /// The maps of the groups that agents are in, where no wildcard showed them.
    private mutating func readMissingMaps(in session: BackendSession, within limit: Duration) async throws {
        let layers = Set(members.flatMap { applied(of: $0)?.layers ?? [] })
        let missing = Set(layers.filter { documents[$0.digest] == nil }.map(\.name))
        let groups = missing.compactMap { name -> String? in
            guard case .group(let group)? = Audience(name) else { return nil }
            return group
        }
        guard !groups.isEmpty else { return }
        for group in groups {
            _ = try await session.subscribe(topics.map(of: .group(group)))
            _ = try await session.subscribe(topics.candidate(of: group))
        }
        let reading = try await session.readAsMuch(within: limit) { saw($0) }
        roster.cutOff = roster.cutOff ?? reading.fault
    }

    /// What it says to have in force; nil where it does not say so, or its newest word can't be read.
    private func applied(of agent: String) -> AppliedMap? {
        roster.members[agent].flatMap { $0.unreadable.contains("map/applied") ? nil : $0.map }
    }

    private mutating func sortIntoBuilds() {
        struct Kind: Hashable {
            var routes: String?
            var contract: String?
            var layers: [AppliedMap.Layer]?
            var entries: Int?
        }
        var kinds: [Kind: [String]] = [:]
        for agent in members {
            let layers = applied(of: agent)?.layers.map {
                AppliedMap.Layer(name: $0.name, revision: $0.revision, digest: $0.digest)
            }
            let kind = Kind(
                routes: routes[agent], contract: contracts[agent], layers: layers,
                entries: applied(of: agent)?.entries)
            kinds[kind, default: []].append(agent)
        }
        builds = kinds.map { kind, agents in
            let contract = agents.first.flatMap { self.contract(of: $0) }
            guard let layers = kind.layers else {
                let isUnreadable = agents.contains {
                    roster.members[$0]?.unreadable.contains("map/applied") ?? false
                }
                return Build(
                    agents: agents, contract: contract,
                    gap: isUnreadable
                        ? "the map/applied of some of them can't be read"
                        : "the broker keeps no map/applied of them")
            }
            let known = layers.compactMap { layer($0) }
            let lacking = layers.map(\.name).filter { name in !known.contains { $0.name == name } }
            guard lacking.isEmpty else {
                return Build(
                    agents: agents, contract: contract,
                    gap: "the broker does not show the document of \(lacking.joined(separator: ", "))")
            }
            // Those that the program itself lays over its routes are in no document.
            guard known.reduce(0, { $0 + $1.count }) == kind.entries else {
                return Build(agents: agents, contract: contract, gap: "their program has entries of its own")
            }
            return Build(agents: agents, layers: known, contract: contract)
        }
        builds.sort { ($1.agents.count, $0.agents[0]) < ($0.agents.count, $1.agents[0]) }
    }

    private func layer(_ applied: AppliedMap.Layer) -> MapLayer? {
        guard let message = documents[applied.digest],
            let document = Relocation(document: message.payload, .map).document
        else { return nil }
        return MapLayer(
            name: applied.name, revision: applied.revision, digest: applied.digest,
            count: document.entries.count,
            entries: document.entries.enumerated().map { index, entry in
                MapLayer.Entry(number: index + 1, content: entry.json, state: .active, reason: nil)
            })
    }

    private func contract(of agent: String) -> RouterContract? {
        var read = ContractDocuments(of: agent, topics: topics)
        for (digest, topic) in [
            (routes[agent], topics.routes(of: agent)), (contracts[agent], topics.contract(of: agent)),
        ] {
            guard let digest, var message = documents[digest] else { continue }
            message.topic = topic
            read.saw(message)
        }
        return read.contract
    }

    // MARK: Asking

    /// Asks one agent of each kind of which it is not known what is in force.
    private mutating func ask(_ settings: BackendConfiguration, in session: BackendSession) async throws {
        let reader = MapReader(settings, ReplyWait(atMost: Self.answerLimit))
        var asked = 0
        for place in builds.indices where builds[place].layers == nil {
            let online = builds[place].agents.filter { roster.members[$0]?.isOnline == true }
            guard !online.isEmpty else {
                builds[place].gap = "\(builds[place].gap ?? ""), and none of them is online"
                continue
            }
            asked += 1
            guard asked <= Self.maximumAsked else { continue }
            for agent in online.prefix(Self.tries) {
                let answer: MapReader.Answers<AgentMaps>
                do {
                    let known = NoReplyDiagnosis(.agent(agent), topics: topics)
                    answer =
                        try await settings.asker == nil
                        ? reader.layers(of: .agent(agent), in: session, knowing: known)
                        : reader.layers(of: .agent(agent))
                } catch let error as BackendError where error.kind == .denied {
                    let rest = builds.indices.filter { $0 >= place && builds[$0].layers == nil }
                    for place in rest {
                        builds[place].gap =
                            "\(builds[place].gap ?? ""), and \(settings.asking.name) may not ask agents: "
                            + BrokerRole.sender.text
                    }
                    return
                } catch let error as BackendError where error.kind != .noBroker {
                    builds[place].gap = error.description
                    continue
                }
                guard let maps = answer.values.first?.value else {
                    builds[place].gap = "\(agent) does not answer; may \(settings.name) ask agents?"
                    continue
                }
                builds[place].layers = maps.layers.map(\.wire)
                break
            }
        }
    }
}

extension MapSurvey.Build {
    /// What a document would change; nil when it is not known what is in force.
    func diff(of relocation: Relocation, to layer: String) -> MapDiff? {
        guard let layers, let document = relocation.document else { return nil }
        var diff = MapDiff(
            of: document, digest: relocation.digest, isPatch: relocation.kind == .patch, to: layer,
            over: layers,
            contract)
        diff.agents = agents
        return diff
    }

    /// The agents, where that is not known.
    var unknown: MapPlan.Unknown? {
        layers == nil ? MapPlan.Unknown(agents: agents, reason: gap ?? "they do not say it") : nil
    }
}
