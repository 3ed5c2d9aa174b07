import MQTTLink
import Threading
import Waypost
import WaypostFleet
import WaypostMessages
import WaypostTools

/// Finds out what a roll-out would do, before it begins.
struct RolloutPlanner {
    /// A map that ends sooner is not rolled out, in milliseconds.
    private static let shortestLife: Int64 = 86_400_000
    private static let patience = Duration.seconds(30)
    /// In a group of so few, each one's refusal is that of many.
    private static let fewAgents = 4

    private let settings: BackendConfiguration
    private let group: String
    private let options: RolloutOptions
    private let lost: Relocation?
    private let only: RolloutPlan.Selection?
    private let byteLimit: Int

    /// - Parameters:
    ///   - lost: The map that members have in force, where the broker has lost it: ``republish(as:)`` sends it again.
    ///   - only: The agents that are shown; nil for all.
    ///   - byteLimit: how much of the fleet's documents may wait here to be read.
    init(
        _ settings: BackendConfiguration, group: String, _ options: RolloutOptions,
        republishing lost: Relocation? = nil, only: RolloutPlan.Selection? = nil,
        byteLimit: Int = RolloutController.byteLimit
    ) {
        (self.settings, self.group, self.options, self.byteLimit) = (settings, group, options, byteLimit)
        (self.lost, self.only) = (lost, only)
    }

    private var topics: Topics { settings.topics }

    /// - Parameters:
    ///   - id: The id that the roll-out would have: it says which agents come first.
    /// - Throws: ``BackendError`` when there is no broker, or when it is no map.
    func plan(_ relocation: Relocation, id: String) async throws -> RolloutPlan {
        guard relocation.kind == .map, let candidate = RolloutDirector.Document(relocation.payload) else {
            throw BackendError(.invalid, "a roll-out needs a whole map with a rev")
        }
        var plan = RolloutPlan(
            RolloutPlan.Subject(id: id, relocation: relocation, options: options, lost: lost), group: group)
        var fleet = RolloutFleet(group: group, salt: id, topics: topics)
        let reader = RolloutReader(settings, group: group)
        var kept = try await reader.kept()
        let survey = try await survey(reader, &fleet)
        // Stages and checks would be those of another fleet.
        plan.faults += survey.notices
        plan.notices += unreadable(in: survey.roster)
        try takeLost(&plan, fleet, &kept)
        (plan.base, plan.next) = (kept.base?.id.revision, candidate.id.revision)
        let stages = RolloutStages(
            options.stages, of: fleet, include: options.include, exclude: options.exclude)
        plan.notices += stages.notices
        plan.builds = survey.builds.map { build in
            let agents = build.agents.filter { !options.exclude.contains($0) }
            return RolloutPlan.Build(agents: agents, diff: build.diff(of: relocation, to: "@\(group)"))
        }
        show(&plan, fleet, stages) { _ in true }
        plan.objections = objections(survey, plan)
        checkBase(&plan, fleet, kept)
        check(&plan, relocation, candidate, kept, id: id)
        // What speaks against it was found of all.
        if let only { show(&plan, fleet, stages, only, of: survey.roster) }
        return plan
    }

    /// Who is there, with what the broker keeps of their maps and routes.
    private func survey(_ reader: RolloutReader, _ fleet: inout RolloutFleet) async throws -> MapSurvey {
        var isPresenceKept = false
        let survey = try await MapSurvey.read(
            of: .group(group), settings, within: Self.patience, byteLimit: byteLimit
        ) { message in
            _ = fleet.saw(message.seen, of: nil, at: 0)
            if reader.isKeptState(message) { isPresenceKept = true }
        }
        guard survey.seesMembers else {
            throw BackendError(.denied, "the broker does not show \(settings.name) who is there")
        }
        for (name, member) in survey.roster.members where member.isOnline == true { fleet.spoke(name) }
        if !isPresenceKept { try await reader.ask { _ = fleet.saw($0.seen, of: nil, at: 0) } }
        return survey
    }

    // MARK: Whom it is shown of

    private func show(
        _ plan: inout RolloutPlan, _ fleet: RolloutFleet, _ stages: RolloutStages,
        _ only: RolloutPlan.Selection, of roster: Roster
    ) {
        let (filter, now) = (only.filter(in: group), WallClock.now())
        let part = Set(filter.agents(of: roster, now: now).map(\.name))
        show(&plan, fleet, stages, where: part.contains)
        plan.only = RolloutPlan.Part(
            text: only.text, agents: plan.known, silent: filter.silent(of: roster, now: now))
    }

    /// Stages, counts and kinds of agents, of those that are meant.
    private func show(
        _ plan: inout RolloutPlan, _ fleet: RolloutFleet, _ stages: RolloutStages,
        where isMeant: (String) -> Bool
    ) {
        plan.stages = stages.entries.map { entry in
            let agents = entry.agents.filter(isMeant)
            return RolloutPlan.Stage(
                name: options.stages[entry.place].description, agents: agents.count,
                examples: Array(agents.prefix(10)))
        }
        plan.known = fleet.agents.keys.count(where: isMeant)
        plan.online = fleet.online.keys.count(where: isMeant)
        plan.builds = plan.builds.compactMap { build in
            var build = build
            build.agents = build.agents.filter(isMeant)
            build.versions = Set(build.agents.compactMap { fleet.agents[$0]?.version }).sorted()
            return build.agents.isEmpty ? nil : build
        }
    }

    /// The documents of members that can't be read, each member in a sentence.
    private func unreadable(in roster: Roster) -> [String] {
        let members = roster.members.filter { $0.value.isIn(group) && !$0.value.unreadable.isEmpty }
        return members.sorted { $0.key < $1.key }.map { name, member in
            "the \(member.unreadable.sorted().joined(separator: " and ")) of \(name) can't be read"
        }
    }

    // MARK: What speaks against it

    /// What a word of consent is needed for; what no agent takes is a fault.
    private func objections(_ survey: MapSurvey, _ plan: RolloutPlan) -> [MapObjection] {
        let unknown = survey.builds.compactMap(\.unknown)
            .filter { !$0.agents.allSatisfy(options.exclude.contains) }
        // Who is there is known from their answers, and nothing else of them.
        let isBlind = survey.builds.isEmpty && plan.known > 0
        let blind = MapObjection(
            kind: .unchecked,
            text: "the broker sends no routes of these agents: what the map does there is not known")
        let found = MapObjection.found(in: plan.builds.compactMap(\.diff), unknown: unknown)
            .filter { [.unchecked, .inactive].contains($0.kind) }
        return ((isBlind ? [blind] : []) + found).filter { !options.allowed.contains($0.kind) }
    }

    /// The map that the broker is to keep again is that of the members, byte for byte: any other would be a change that
    /// no stage and no gate has seen.
    private func takeLost(
        _ plan: inout RolloutPlan, _ fleet: RolloutFleet, _ kept: inout RolloutDirector.Kept
    ) throws(BackendError) {
        guard let lost else { return }
        guard lost.kind == .map, let document = RolloutDirector.Document(lost.payload),
            let revision = document.id.revision
        else { throw BackendError(.invalid, "what is published again must be a whole map with a rev") }
        guard document.id.digest != kept.base?.id.digest else {
            plan.notices.append(
                "the broker keeps rev \(revision) of @\(group) by now; it is not published again")
            return
        }
        let maps = fleet.agents.filter { !options.exclude.contains($0.key) }.compactMapValues(\.map)
        let having = maps.filter { $0.value.digest == document.id.digest }.keys.sorted()
        if let base = kept.base?.id.revision, base >= revision {
            plan.faults.append(
                "rev \(revision) is not published again, for the broker keeps rev \(base) of @\(group)")
        } else if having.count * 2 <= maps.count {
            let others = maps.keys.filter { !having.contains($0) }.sorted()
            plan.faults.append(
                "rev \(revision) is not published again, for it is not, byte for byte, the map that most members have: "
                    + (others.isEmpty ? "none has a map of @\(group)" : "\(others.named) have another one"))
        } else {
            plan.republished = revision
            plan.notices.append(
                "rev \(revision) of @\(group) is published again first: \(having.named) have it, and the broker does not"
            )
            kept.base = document
        }
    }

    /// Has the broker keep the lost map again, if the plan says that it is to.
    ///
    /// - Throws: ``BackendError``; of kind `notSent` when a newer one came meanwhile.
    func republish(as plan: RolloutPlan) async throws {
        guard plan.republished != nil, let lost else { return }
        try await BackendSession.with(settings, required: []) { session in
            try await session.replaceMap(with: lost, of: .group(group), allowing: []) { _ in }
        }
    }

    /// Members that have a newer map in force than the broker keeps: their base would be another one than that of the
    /// roll-out, and who comes next would get the older one.
    ///
    /// Those that it leaves out have no say.
    private func checkBase(_ plan: inout RolloutPlan, _ fleet: RolloutFleet, _ kept: RolloutDirector.Kept) {
        let known = [kept.base?.id.digest, kept.control?.next.digest]
        let members = fleet.agents.filter { !options.exclude.contains($0.key) }
        let claims = MembersNumbers(
            members.mapValues { agent in
                agent.map.map { known.contains($0.digest) ? 0 : $0.revision ?? 0 } ?? 0
            })
        let base = plan.base ?? 0
        let ahead = claims.beyond(base)
        guard !ahead.isEmpty else { return }
        let has = "\(ahead.named) \(ahead.count == 1 ? "has" : "have")"
        // What a few say of themselves does not keep a map from the others.
        guard let newest = claims.warning(above: base) else {
            plan.notices.append("\(has) another map of @\(group) in force, which the broker does not keep")
            return
        }
        let who = "\(has) rev \(newest) of @\(group) in force"
        var remedy = settings.words(
            "have it keep that map again first: \(library: "republishing:", shell: "--republish FILE with the file of that map"), or send its entries as a newer one\(shell: ": waypost map undo --group \(group) --to \(newest)")"
        )
        if let only = ahead.first, ahead.count == 1, members.count > 1 {
            remedy += "; if it is not so, go on without it: \(without(only))"
        }
        if let base = kept.base {
            let revision = base.id.revision.map { "rev \($0)" } ?? "one without a rev"
            plan.faults.append("\(who), and the broker keeps \(revision): \(remedy)")
        } else if !options.allowed.contains(.unchecked) {
            // Who may not read a map sees the same as where there is none.
            plan.objections.append(
                MapObjection(
                    kind: .unchecked,
                    text:
                        "\(who), and the broker shows \(settings.name) none. \(settings.name) may not read maps, for "
                        + "\(BrokerRole.release.text); or the broker has lost it: \(remedy)"))
        }
        plan.base = kept.base == nil ? newest : plan.base
    }

    /// The way out when one member keeps a map from the others.
    private func without(_ agent: String) -> String {
        settings.words("\(library: "exclude \(agent)", shell: "--exclude \(agent)")")
    }

    private func check(
        _ plan: inout RolloutPlan, _ relocation: Relocation, _ candidate: RolloutDirector.Document,
        _ kept: RolloutDirector.Kept, id: String
    ) {
        if plan.known == 0 { plan.faults.append("no agent at this broker is in the group \(group)") }
        if let running = kept.unfinished, !options.resetsOrder {
            plan.faults.append("roll-out \(running.id) of @\(group) is \(running.state.rawValue)")
        }
        if kept.control?.id == id { plan.faults.append("the id \(id) was used for the last roll-out") }
        let base = plan.base ?? 0
        if candidate.id.revision ?? 0 <= base {
            plan.faults.append("the map needs a rev above \(base), which is in force")
        }
        if let map = kept.base, map.isSigned, !candidate.isSigned {
            plan.faults.append("the map in force is signed, and this one is not")
        }
        if let signer = settings.signer, let refusal = kept.base?.refusal(by: signer, in: group) {
            plan.notices.append(
                "after the last stage it can't be taken back: the map that the broker keeps must not be signed again by "
                    + "\(signer.id), \(refusal.code): \(refusal.detail)")
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
                let isOne = build.agents.count == 1 && plan.known > 1
                let fault =
                    "\(who) would refuse it: \(refusal)"
                    + (isOne ? "; see \(without(build.agents[0]))" : "")
                // What one says of its routes keeps no map from the others; the gate `candidate` sees it, too.
                if isOne, plan.known > Self.fewAgents {
                    plan.notices.append(fault)
                } else {
                    plan.faults.append(fault)
                }
            }
            for entry in build.diff?.inactive ?? [] {
                plan.notices.append(
                    "entry \(entry.number) has no effect on \(who): \(entry.reason)")
            }
        }
        if let first = plan.stages.first, first.agents == 0, plan.known > 0 {
            plan.faults.append("stage \(first.name) has no agent")
        }
    }
}
