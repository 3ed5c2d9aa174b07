import MQTTLink
import Waypost
import WaypostAgent
import WaypostFleet
import WaypostMessages

/// What simulated agents do with what comes.
extension SimulatedFleet {
    /// The most bytes of a page of what an answer lists.
    private static let pageBytes = 32_768
    /// How many opens and calls run at once, for each agent: as many as an agent has threads for.
    private static let runningOfEach = 64
    /// A sender's clock may be ahead by this much, in milliseconds.
    private static let maximumSkew: Int64 = 30_000

    /// A command as all of its receivers read it.
    private struct Incoming {
        var message: MQTTMessage
        var sender: String
        var id: String
        var trace: String?
        var fields: Fields
    }

    /// A message came.
    ///
    /// - Parameter only: the agent to whose session it came; nil when one session is all agents'.
    mutating func received(_ message: MQTTMessage, by only: Int? = nil, at now: Int64) -> [FleetStep] {
        guard let topic = plan.topics.inbound(message.topic) else { return [] }
        let members = plan.members(of: topic.audience).filter { only == nil || only == $0 }
        switch topic {
        case .command(_, let sender):
            guard !members.isEmpty, !SelfTestPayload.isPing(message.payload) else { return [] }
            return command(message, from: sender, to: members.filter { agents[$0].isReachable }, at: now)
        case .map(let audience):
            guard !members.isEmpty else { return [] }
            if case .agent = audience { change(members[0]) { $0.hasOwnMap = true } }
            if !message.payload.isEmpty { keep(message.payload, for: audience) }
            return members.flatMap { apply(message, layer(audience), audience, $0, at: now) }
        case .patch:
            return members.flatMap {
                apply(message, MapRecord.patchLayer, topic.audience, $0, at: now)
            }
        case .candidate(let group): return tookCandidate(message.payload, of: group, members, at: now)
        case .rollout(let group): return tookControl(message.payload, of: group, members, at: now)
        case .echo: return []
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
        case .inForce: return []
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

    private mutating func command(
        _ message: MQTTMessage, from sender: String, to members: [Int], at now: Int64
    ) -> [FleetStep] {
        let incoming: Incoming
        do throws(Failure) {
            guard message.payload.count <= configuration.limits.commandBytes else {
                throw Failure(
                    .tooLarge,
                    "a command has at most \(configuration.limits.commandBytes) bytes; found \(message.payload.count)"
                )
            }
            let payload = try CommandPayload(stored: message.payload, limits: configuration.limits.json)
            incoming = Incoming(
                message: message, sender: sender, id: try Command.id(in: payload.fields),
                trace: payload.fields["trace"]?.stringValue, fields: payload.fields)
        } catch {
            return members.flatMap {
                fail($0, error.code, "command of \(sender): \(error.detail)", in: .intake, at: now)
            }
        }
        var steps: [FleetStep] = []
        for index in members {
            change(index) { $0.received &+= 1 }
            let address = ReplyAddress(
                topic: plan.topics.reply(of: plan.name(index), to: sender),
                correlation: message.properties.correlationData, trace: incoming.trace)
            do throws(Failure) {
                let clock = agents[index].clock(at: now)
                let command = try Command(id: incoming.id, fields: incoming.fields, arrival: clock)
                try check(command, of: message, index, at: clock)
                steps += run(command, from: sender, index, address, at: now)
            } catch {
                steps += reply(
                    CommandResult(error, origin: .intake), to: incoming.id, index, address, took: 0, at: now)
            }
        }
        return steps
    }

    private func check(
        _ command: Command, of message: MQTTMessage, _ index: Int, at clock: Int64
    ) throws(Failure) {
        if message.retain {
            throw Failure(
                .retainedCommand, "commands are never retained; clear the topic \(message.topic)")
        }
        if agents[index].knowsItsClockIsWrong {
            guard !command.hasAbsoluteExpiry else {
                throw Failure(
                    .clock,
                    "the agent's clock is wrong; set it, or send the command with a ttl instead of exp")
            }
            return
        }
        if let at = command.at, at > clock + Self.maximumSkew {
            throw Failure(
                .clockSkew, "the sender's clock is \(TimeText.span(at - clock)) ahead of the agent's")
        }
        guard clock < command.expires else { throw Failure(.expired, "expired before it could start") }
        guard agents[index].maps.build.isOld, let type = Self.newerType(command.operation) else { return }
        throw Failure(
            .unknownType,
            "type \(type.quoted) is unknown; known: open call cancel log replay ping")
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

    private mutating func run(
        _ command: Command, from sender: String, _ index: Int, _ address: ReplyAddress, at now: Int64
    ) -> [FleetStep] {
        let maps = agents[index].maps
        let name = plan.name(index)
        var before: [FleetStep] = []
        let result: CommandResult
        switch command.operation {
        case .open, .call, .navigate:
            let started = SimulatedCommand(
                key: .init(agent: index, sender: sender, id: command.id), name: name,
                operation: command.operation, warnings: command.warnings, address: address, maps: maps,
                began: now)
            // Its sender has sent it twice; one answer is enough.
            guard !running.contains(started.key) else { return [] }
            guard running.count < Self.runningOfEach * plan.count else {
                result = CommandResult(
                    Failure(.busy, "\(running.count) opens and calls run in all agents"), origin: .intake)
                break
            }
            running.insert(started.key)
            return [.run(started)]
        case .cancel(let target):
            let key = SimulatedCommand.Key(agent: index, sender: sender, id: target)
            if running.contains(key) {
                before = [.cancel(key)]
                result = .ok(["target": .string(target), "was": "running"])
            } else {
                result = CommandResult(
                    Failure(.noCommand, "no command \(target) of this sender is waiting or running"),
                    origin: .intake)
            }
        case .ping: result = .ok(health(index, at: now).json)
        case .maps(let request):
            switch maps.page(request, of: name, bytes: Self.pageBytes) {
            case .success(let page): result = .ok(page)
            case .failure(let failure): result = CommandResult(failure, origin: .map)
            }
        case .resolve(let request):
            let layers = maps.applied(by: name).layers
            let answer = maps.build.look(maps, name) {
                $0.answer(request, for: sender, bytes: Self.pageBytes, under: { layers })
            }
            result = .ok(answer ?? .null)
        case .log(let level, let tag, let milliseconds):
            (before, result) = setLevel(level, tag, for: milliseconds, by: sender, index, at: now)
        case .failures(let request): result = page(request, index, at: now)
        case .replay(let request): (before, result) = replay(request, index, at: now)
        case .inspect: result = .ok(["commands": []])
        }
        return before
            + reply(result, to: command.id, index, address, took: 0, warnings: command.warnings, at: now)
    }

    /// A command ended that was run.
    mutating func ended(_ command: SimulatedCommand, _ result: CommandResult, at now: Int64) -> [FleetStep] {
        let index = command.key.agent
        running.remove(command.key)
        // It is gone; its answer too.
        guard agents[index].isReachable else { return [] }
        var steps: [FleetStep] = []
        switch command.operation {
        case .open(let url, _):
            let opened = RouteURL.withoutValues(result.url ?? url)
            steps += log(
                index, .verbose, "Router", "will open \(url)", url: url, ref: command.key.id, at: now)
            if result.code == .ok {
                change(index) { $0.opened &+= 1 }
                steps += log(
                    index, .info, "Router", "opened \(opened)", url: opened, ref: command.key.id, at: now)
            } else {
                change(index) { $0.unopened &+= 1 }
            }
        case .call(let service, let method, _) where result.code == .ok:
            steps += log(
                index, .info, "Service", "returned \(service).\(method)", ref: command.key.id, at: now)
        default: break
        }
        return steps
            + reply(
                result, to: command.key.id, index, command.address, took: now - command.began,
                warnings: command.warnings, at: now)
    }

    /// The reply, and the report when that is a failure.
    private mutating func reply(
        _ result: CommandResult, to id: String, _ index: Int, _ address: ReplyAddress, took: Int64,
        warnings: [String] = [], at now: Int64
    ) -> [FleetStep] {
        change(index) { agent in
            switch result.code.status {
            case .ok?: agent.succeeded &+= 1
            case .rejected?: agent.rejected &+= 1
            default: agent.failed &+= 1
            }
        }
        let reply = Reply(
            id: id, code: result.code, result: redaction.masked(result.value), milliseconds: took,
            at: agents[index].clock(at: now), detail: result.detail.map(redaction.masked),
            nearest: result.nearest, payload: result.payload, warnings: warnings)
        let steps = [FleetStep.publish(address.message(reply.encoded()), by: index)]
        guard result.isFailure else { return steps }
        return steps
            + fail(
                index, result.code, result.detail ?? result.code.name, in: result.origin, ref: id,
                url: result.url, nearest: result.nearest, at: now)
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
        let all = failures[index] ?? []
        var page: [JSONValue] = []
        var next: Int64?
        var size = 0
        // Their places count from 1.
        for (offset, report) in all.enumerated().reversed() {
            let place = Int64(offset + 1)
            guard place < request.before, report.last >= request.since,
                query.holds(
                    for: report.event, of: plan.name(index), code: report.code, isReport: true, now: clock)
            else { continue }
            let payload = report.encoded()
            size += payload.count
            guard page.isEmpty || (page.count < request.maximum && size <= Self.pageBytes) else {
                next = place + 1
                break
            }
            page.append((try? JSONValue(parsing: payload, limits: .trustedFile)) ?? .null)
        }
        return .ok(["failures": .array(page), "next": .init(next), "damaged": 0])
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
        let query: LogQuery
        do throws(Failure) {
            query = try LogQuery(forAgent: wanted.query)
        } catch {
            return ([], CommandResult(error, origin: .agent))
        }
        let isOurs = wanted.before.map { $0.boot == boot } ?? true
        var page = EventPage(
            EventPage.Filter(
                since: request.since, oldest: wanted.oldest ?? .min, level: wanted.level ?? .verbose,
                query: query, agent: name, now: agents[index].clock(at: now)),
            before: isOurs ? wanted.before?.sequence ?? Fields.largestInteger : 0,
            maximum: request.maximum, bytes: Self.pageBytes)
        for event in known.reversed() where event.sequence < page.place {
            guard page.look(at: event) else { break }
        }
        let hasMore = known.contains { $0.sequence > request.since && $0.sequence < page.place }
        return (
            [],
            .ok([
                "boot": .string(boot), "events": .array(page.events),
                "next": hasMore ? Replay.Place(boot: boot, sequence: page.place).json : .null,
                "first": known.first.map { ["seq": .int($0.sequence), "t": .int($0.time)] } ?? .null,
            ])
        )
    }
}
