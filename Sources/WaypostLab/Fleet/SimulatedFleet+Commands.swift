import MQTTLink
import Waypost
import WaypostAgent
import WaypostFleet
import WaypostMessages

/// What simulated agents do with what comes.
extension SimulatedFleet {
    /// The most bytes of a page of what an answer lists.
    private static let pageBytes = 32_768

    /// A message came.
    ///
    /// - Parameter only: the agent to whose session it came; nil when one session is all agents'.
    mutating func received(_ message: MQTTMessage, by only: Int? = nil, at now: Int64) -> [FleetStep] {
        guard let topic = plan.topics.inbound(message.topic) else { return [] }
        let members = plan.members(of: topic.audience).filter { only == nil || only == $0 }
        switch topic {
        case .command(let audience, let sender):
            guard !SelfTestPayload.isPing(message.payload) else { return [] }
            return members.filter { agents[$0].isReachable }.flatMap { index in
                perform(index, at: now) { $0.received(message, for: audience, from: sender, at: $1) }
            }
        case .map(let audience):
            guard !members.isEmpty else { return [] }
            if case .agent = audience { agents[members[0]].hasOwnMap = true }
            if !message.payload.isEmpty { keep(message.payload, for: audience) }
            return members.flatMap { apply(message, layer(audience), audience, $0, at: now) }
        case .patch:
            return members.flatMap {
                apply(message, MapRecord.patchLayer, topic.audience, $0, at: now)
            }
        case .candidate(let group): return tookCandidate(message.payload, of: group, members, at: now)
        case .rollout(let group): return tookControl(message.payload, of: group, members, at: now)
        // Its groups are those of the plan.
        case .echo, .groups: return []
        }
    }

    // MARK: Maps

    private mutating func apply(
        _ message: MQTTMessage, _ layer: String, _ audience: Audience, _ index: Int, at now: Int64
    ) -> [FleetStep] {
        guard agents[index].isReachable else { return [] }
        guard !message.payload.isEmpty else {
            return log(
                index, .warning, "Map",
                "an empty payload on \(message.topic) changes nothing; to empty the map, send entries:[]",
                at: now)
        }
        switch take(message.payload, in: layer, for: audience, index, at: now) {
        case .inForce, .candidate: return []
        case .applied(let name, let revision, let entries):
            let inactive = agents[index].maps.applied(by: plan.name(index)).inactive.count
            let state = inactive == 0 ? "all active" : "\(inactive) of all layers inactive"
            let text = revision.map { " rev \($0)" } ?? ""
            return documents(index)
                + log(
                    index, .info, "Map",
                    "\(name)\(text) applied: \(entries.counted("entry", "entries")), \(state)", at: now)
        case .refused(_, _, false): return [applied(index)]
        case .refused(let failure, let name, true):
            return [applied(index)]
                + fail(index, failure.code, "map of \(name) refused: \(failure.detail)", in: .map, at: now)
        }
    }

    // MARK: Commands

    /// Has an agent take note of something about its commands, and does what follows.
    mutating func perform(
        _ index: Int, at now: Int64,
        _ body: (inout SimulatedCommands, SimulatedCommands.Time) -> [SimulatedCommands.Step]
    ) -> [FleetStep] {
        let agent = agents[index]
        let time = SimulatedCommands.Time(
            wall: agent.clock(at: now), isWallCorrect: !agent.knowsItsClockIsWrong, monotonic: now)
        // Taken out, or it would be copied.
        var own =
            commands.removeValue(forKey: index) ?? SimulatedCommands(commandRules, agent: plan.name(index))
        let steps = body(&own, time)
        if own.isIdle { busy.remove(index) } else { busy.insert(index) }
        commands[index] = own
        // It is gone; its answers too.
        guard agents[index].isReachable else { return [] }
        return steps.flatMap { step -> [FleetStep] in
            switch step {
            case .run(let turn): run(turn, index, at: now)
            case .cancel(let sequence): [.cancel(.init(agent: index, sequence: sequence))]
            case .send(let message): [.publish(message, by: index)]
            case .report(let result, let command):
                fail(
                    index, result.code, result.detail ?? result.code.name, in: result.origin,
                    ref: command?.id, trace: command?.trace, url: result.url, nearest: result.nearest, at: now
                )
            }
        }
    }

    /// The name of a type that an old version does not know.
    private static func newerType(_ operation: Command.Operation) -> String? {
        switch operation {
        case .failures: "failures"
        case .inspect: "inspect"
        case .maps: "maps"
        case .navigate: "navigate"
        case .resolve: "resolve"
        case .open, .call, .cancel, .log, .replay, .ping: nil
        }
    }

    /// The turn of a command has come.
    private mutating func run(
        _ turn: SimulatedCommands.Turn, _ index: Int, at now: Int64
    ) -> [FleetStep] {
        let maps = agents[index].maps
        if maps.build.isOld, let type = Self.newerType(turn.operation) {
            let failure = Failure(
                .unknownType,
                "type \(type.quoted) is unknown; known: open call cancel log replay ping")
            let result = CommandResult(failure, origin: .intake)
            return perform(index, at: now) { $0.ended(turn, result, at: $1) }
        }
        var before: [FleetStep] = []
        let result: CommandResult
        switch turn.operation {
        case .open, .call, .navigate, .cancel:
            return [
                .run(SimulatedCommand(agent: index, name: plan.name(index), turn: turn, maps: maps))
            ]
        case .log(let level, let tag, let milliseconds):
            (before, result) = setLevel(level, tag, for: milliseconds, by: turn.sender, index, at: now)
        case .replay(let request): (before, result) = replay(request, index, at: now)
        case .failures(let request): result = page(request, index, at: now)
        case .ping: result = .ok(health(index, at: now).json)
        case .maps(let request): result = listing(request, of: maps, index)
        case .resolve(let request):
            let layers = maps.applied(by: plan.name(index)).layers
            let answer = maps.build.look(maps, plan.name(index)) {
                $0.answer(request, for: turn.sender, bytes: Self.pageBytes, under: { layers })
            }
            result = .ok(answer ?? .null)
        case .inspect: result = .ok(["commands": [], "more": 0])
        }
        return before + perform(index, at: now) { $0.ended(turn, result, at: $1) }
    }

    private func listing(
        _ request: MapsRequest, of maps: SimulatedMaps, _ index: Int
    ) -> CommandResult {
        switch maps.page(request, of: plan.name(index), bytes: Self.pageBytes) {
        case .success(let page): .ok(page)
        case .failure(let failure): CommandResult(failure, origin: .map)
        }
    }

    /// A command ended that was run.
    mutating func ended(_ command: SimulatedCommand, _ result: CommandResult, at now: Int64) -> [FleetStep] {
        let (index, ref) = (command.agent, command.turn.context.ref)
        var steps: [FleetStep] = []
        if agents[index].isReachable {
            switch command.turn.operation {
            case .open(let url, _):
                let opened = RouteURL.withoutValues(result.url ?? url)
                steps += log(index, .verbose, "Router", "will open \(url)", url: url, ref: ref, at: now)
                if result.code == .ok {
                    agents[index].opened &+= 1
                    steps += log(
                        index, .info, "Router", "opened \(opened)", url: opened, ref: ref, at: now)
                } else {
                    agents[index].unopened &+= 1
                }
            case .call(let service, let method, _) where result.code == .ok:
                steps += log(
                    index, .info, "Service", "returned \(service).\(method)", ref: ref, at: now)
            default: break
            }
        }
        return steps + perform(index, at: now) { $0.ended(command.turn, result, at: $1) }
    }

    // MARK: About the agent

    private mutating func setLevel(
        _ level: LogLevel, _ tag: String?, for milliseconds: Int64, by sender: String, _ index: Int,
        at now: Int64
    ) -> ([FleetStep], CommandResult) {
        let until = agents[index].clock(at: now) + milliseconds
        let override = LevelOverride(level: level, tag: tag, until: until, sender: sender)
        let isNew = overrides.updateValue(override, forKey: index) == nil
        if isNew { schedule.add(.askedLine, of: index, at: now + 200) }
        let lowest = override.lowest(over: .info)
        let scope = tag.map { " of tag \($0)" } ?? ""
        let steps = log(
            index, .warning, "Agent",
            "\(sender) asked for events of level \(level.letter) and higher\(scope) for \(milliseconds / 1_000) s",
            at: now)
        let health = MQTTMessage.retained(
            plan.topics.health(of: plan.name(index)), health(index, at: now).json.serialized())
        return (
            steps + [.publish(health, by: index)],
            .ok(["level": .string(lowest.topicLevel), "until": .int(until)])
        )
    }

    private func page(_ request: FailureRequest, _ index: Int, at now: Int64) -> CommandResult {
        let query: LogQuery
        do throws(Failure) {
            query = try LogQuery(forAgent: request.query)
        } catch {
            return CommandResult(error, origin: .agent)
        }
        let clock = agents[index].clock(at: now)
        var page = FailurePage(request, bytes: Self.pageBytes)
        // Their places count from 1.
        for (offset, report) in (failures[index] ?? []).enumerated().reversed() {
            guard offset + 1 < request.before, report.last >= request.since,
                query.holds(
                    for: report.event, of: plan.name(index), code: report.code, isReport: true, now: clock)
            else { continue }
            let payload = report.encoded()
            let json = (try? JSONValue(parsing: payload, limits: .trustedFile)) ?? .null
            guard page.take(json, bytes: payload.count, at: Int64(offset + 1)) else { break }
        }
        return page.answer
    }

    private func replay(_ request: Replay, _ index: Int, at now: Int64) -> ([FleetStep], CommandResult) {
        let known = events[index] ?? []
        let (name, boot) = (plan.name(index), boot(index))
        guard let wanted = request.page else {
            let again = known.filter { $0.sequence > request.since }.prefix(request.maximum)
            let steps = again.map { event in
                FleetStep.publish(
                    MQTTMessage(
                        topic: plan.topics.log(of: name, level: event.level), payload: event.encoded()),
                    by: index)
            }
            let last = again.last?.sequence ?? request.since
            return (steps, .ok(["replayed": .int(Int64(again.count)), "last": .int(last)]))
        }
        var page: EventPage
        do throws(Failure) {
            page = try EventPage(
                request, wanted, of: name, boot: boot, bytes: Self.pageBytes, at: agents[index].clock(at: now)
            )
        } catch {
            return ([], CommandResult(error, origin: .agent))
        }
        for event in known.reversed() where event.sequence < page.place {
            guard page.look(at: event) else { break }
        }
        let hasMore = known.contains { $0.sequence > request.since && $0.sequence < page.place }
        return ([], .ok(page.answer(boot: boot, hasMore: hasMore, oldest: known.first)))
    }
}
