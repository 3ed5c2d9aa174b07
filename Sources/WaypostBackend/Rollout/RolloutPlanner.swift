import MQTTLink
import Waypost
import WaypostFleet
import WaypostMessages
import WaypostTools

/// Finds out what a roll-out would do, before it begins.
package struct RolloutPlanner {
    /// The most kinds of agents that are looked at: more take longer than anybody waits.
    private static let maximumBuilds = 32
    /// A map that ends sooner is not rolled out, in milliseconds.
    private static let shortestLife: Int64 = 86_400_000
    private static let patience = Duration.seconds(30)
    /// In a group of so few, each one's refusal is that of many.
    private static let fewAgents = 4

    private let settings: BackendConfiguration
    private let group: String
    private let options: RolloutOptions
    private let byteLimit: Int

    /// - Parameter byteLimit: how much of the fleet's documents may wait here to be read.
    package init(
        _ settings: BackendConfiguration, group: String, _ options: RolloutOptions,
        byteLimit: Int = RolloutController.byteLimit
    ) {
        (self.settings, self.group, self.options, self.byteLimit) = (settings, group, options, byteLimit)
    }

    private var topics: Topics { settings.topics }

    /// What agents have of routes and maps, and who they are.
    private struct Kind: Hashable {
        var routes: [UInt8]
        var contract: [UInt8]
        var layers: [String]
    }

    /// Documents by their digests, and which agent has which.
    private struct Documents {
        var payloads: [[UInt8]: MQTTMessage] = [:]
        var routes: [String: [UInt8]] = [:]
        var contracts: [String: [UInt8]] = [:]
        var layers: [String: [String]] = [:]

        mutating func saw(_ message: MQTTMessage, _ topics: Topics) {
            guard let (agent, content) = topics.outbound(message.topic), !message.payload.isEmpty else {
                return
            }
            switch content {
            case .routes: routes[agent] = keep(message)
            case .contract: contracts[agent] = keep(message)
            case .applied:
                let applied = message.json.flatMap { try? AppliedMap($0) }
                layers[agent] = applied.map { $0.layers.map { "\($0.name) \($0.digest)" } }
            default: break
            }
        }

        private mutating func keep(_ message: MQTTMessage) -> [UInt8] {
            let digest = SHA256.digest(of: message.payload)
            if payloads[digest] == nil { payloads[digest] = message }
            return digest
        }
    }

    /// - Parameters:
    ///   - id: The id that the roll-out would have: it says which agents come first.
    /// - Throws: ``BackendError`` when there is no broker, or when it is no map.
    package func plan(_ relocation: Relocation, id: String) async throws -> RolloutPlan {
        guard relocation.kind == .map, let candidate = RolloutDirector.Document(relocation.payload) else {
            throw BackendError(.invalid, "a roll-out needs a whole map with a rev")
        }
        var plan = RolloutPlan(group: group)
        var fleet = RolloutFleet(group: group, salt: id, topics: topics)
        var documents = Documents()
        let reader = RolloutReader(settings, group: group)
        let kept = try await reader.kept()
        var isPresenceKept = false
        try await BackendSession.with(
            settings, required: [topics.state(of: "+")],
            useful: Array(RolloutFleet.filters(topics).dropFirst().dropLast())
                + [topics.routes(of: "+"), topics.contract(of: "+")],
            byteLimit: byteLimit
        ) { session in
            _ = try await session.readRetained(within: Self.patience) { message in
                _ = fleet.saw(message.seen, of: nil, at: 0)
                documents.saw(message, topics)
                if reader.isKeptState(message) { isPresenceKept = true }
            }
            // Stages and checks would be those of another fleet.
            plan.faults += session.loss.notices
        }
        if !isPresenceKept { try await reader.ask { _ = fleet.saw($0.seen, of: nil, at: 0) } }
        plan.base = kept.base?.id.revision
        plan.next = candidate.id.revision
        plan.known = fleet.agents.count
        plan.online = fleet.online.count
        plan.stages = stages(fleet)
        plan.builds = try await builds(fleet, documents, relocation)
        check(&plan, relocation, candidate, kept, id: id)
        return plan
    }

    private func stages(_ fleet: RolloutFleet) -> [RolloutPlan.Stage] {
        let numbers = fleet.numbers(without: options.exclude)
        let online = fleet.online.filter { !options.exclude.contains($0.key) }
        var below: UInt64 = 0
        return options.stages.map { stage in
            below = stage.below(online: numbers, atLeast: below)
            let chosen = online.filter { $0.value.number < below || options.include.contains($0.key) }
            let first = chosen.sorted { ($0.value.number, $0.key) < ($1.value.number, $1.key) }.prefix(10)
            return RolloutPlan.Stage(
                name: stage.description, agents: chosen.count, examples: first.map(\.key))
        }
    }

    /// What the map does at each kind of agent: one of each is asked for its maps.
    private func builds(
        _ fleet: RolloutFleet, _ documents: Documents, _ relocation: Relocation
    ) async throws -> [RolloutPlan.Build] {
        var kinds: [Kind: [String]] = [:]
        for name in fleet.agents.keys where !options.exclude.contains(name) {
            guard let routes = documents.routes[name], let contract = documents.contracts[name] else {
                continue
            }
            kinds[Kind(routes: routes, contract: contract, layers: documents.layers[name] ?? []), default: []]
                .append(name)
        }
        guard let document = relocation.document else { return [] }
        let reader = MapReader(settings, ReplyWait(atMost: .seconds(3)))
        var builds: [RolloutPlan.Build] = []
        let sorted = kinds.sorted {
            ($1.value.count, $0.value.min() ?? "") < ($0.value.count, $1.value.min() ?? "")
        }
        for (kind, names) in sorted.prefix(Self.maximumBuilds) {
            var build = RolloutPlan.Build()
            build.agents = names.sorted()
            build.versions = Set(names.compactMap { fleet.agents[$0]?.version }).sorted()
            let online = build.agents.filter { fleet.agents[$0]?.isOnline == true }
            for agent in online.prefix(3) {
                guard let layers = try? await reader.layers(of: .agent(agent)).values.first?.value.layers
                else {
                    try Task.checkCancellation()
                    continue
                }
                build.diff = MapDiff(
                    of: document, isPatch: false, to: "@\(group)", over: layers.map(\.wire),
                    contract(kind, documents, of: agent))
                break
            }
            builds.append(build)
        }
        return builds
    }

    private func contract(_ kind: Kind, _ documents: Documents, of agent: String) -> RouterContract? {
        var read = ContractDocuments(of: agent, topics: topics)
        for (digest, topic) in [
            (kind.routes, topics.routes(of: agent)), (kind.contract, topics.contract(of: agent)),
        ] {
            guard var message = documents.payloads[digest] else { continue }
            message.topic = topic
            read.saw(message)
        }
        return read.contract
    }

    // MARK: What speaks against it

    private func check(
        _ plan: inout RolloutPlan, _ relocation: Relocation, _ candidate: RolloutDirector.Document,
        _ kept: RolloutDirector.Kept, id: String
    ) {
        if plan.known == 0 { plan.faults.append("no agent at this broker is in the group \(group)") }
        if plan.known > 0, plan.builds.isEmpty {
            plan.notices.append(
                "the broker sends no routes of these agents: what the map does there is not known")
        }
        if let running = kept.unfinished, !options.resetsOrder {
            plan.faults.append("roll-out \(running.id) of @\(group) is \(running.state.rawValue)")
        }
        if kept.control?.id == id { plan.faults.append("the id \(id) was used for the last roll-out") }
        let base = kept.base?.id.revision ?? 0
        if candidate.id.revision ?? 0 <= base {
            plan.faults.append("the map needs a rev above \(base), which is in force")
        }
        if let map = kept.base, map.isSigned, !candidate.isSigned {
            plan.faults.append("the map in force is signed, and this one is not")
        }
        if let named = relocation.document?.audience, named != "@\(group)" {
            plan.faults.append("the map is for \(named), not for @\(group)")
        }
        if let expires = relocation.expires, expires - WallClock.now() < Self.shortestLife {
            plan.faults.append("the map ends at \(Timestamp.local(expires)), in less than a day")
        }
        for build in plan.builds {
            let who = "\(build.agents.count.counted("agent")) (\(build.versions.joined(separator: ", ")))"
            if let refusal = build.diff?.refusal {
                let fault = "\(who) would refuse it: \(refusal)"
                // What one says of its routes keeps no map from the others; the gate `candidate` sees it, too.
                if build.agents.count == 1, plan.known > Self.fewAgents {
                    plan.notices.append("\(fault); see --exclude \(build.agents[0])")
                } else {
                    plan.faults.append(fault)
                }
            }
            for entry in build.diff?.inactive ?? [] {
                plan.notices.append(
                    "entry \(entry.number) has no effect on \(who): \(entry.reason)")
            }
            if build.diff == nil { plan.notices.append("\(who) did not say what is in force") }
        }
        if let first = plan.stages.first, first.agents == 0, plan.known > 0 {
            plan.faults.append("stage \(first.name) has no agent")
        }
    }
}
