import Waypost
import WaypostMessages

/// Turns a command into a use of the router or the registry, and its outcome into a verdict.
struct CommandRunner: Sendable {
    let router: Router
    let events: EventLog
    let clock: AgentClock
    /// The answer to `ping`.
    let report: HealthReport
    let store: Store

    /// Whether the command may run again after a crash in the middle of it.
    func isIdempotent(_ operation: Command.Operation) -> Bool {
        switch operation {
        case .open(let url, _): router.isIdempotent(url)
        case .call(let service, let method, _): router.services.method(service, method)?.idempotent ?? true
        case .cancel, .log, .replay, .ping: true
        }
    }

    /// Runs what needs no lane; nil for opens and calls.
    func runAtOnce(_ work: Work) -> Verdict? {
        switch work.command.operation {
        case .open, .call, .cancel: return nil
        case .ping: return .ok(report.json)
        case .replay(let since, let maximum):
            let (count, last) = events.replay(since: since, maximum: maximum)
            return .ok(["replayed": .int(Int64(count)), "last": .int(last)])
        case .log(let level, let tag, let milliseconds):
            let override = EventLog.LevelOverride(level: level, tag: tag, until: clock.wall() + milliseconds)
            // Losing it on a full disk only means that a restart forgets a temporary level.
            try? store.commit { try $0.setOverride(override) }
            events.setOverride(override)
            return .ok(["level": .string(level.topicLevel), "until": .int(override.until)])
        }
    }

    /// Runs an open or a call; the dispatcher ends it at its deadline.
    func run(_ work: Work) async -> Verdict {
        switch work.command.operation {
        case .open(let url, let parameters):
            let opening = await router.open(
                url, parameters: parameters,
                context: OpenContext(
                    ref: work.command.id, attempt: work.attempts + 1, isTimedByCaller: true))
            return Verdict(opening)
        case .call(let service, let method, let arguments):
            let result = await router.services.call(
                service, method, arguments: ServiceArguments(arguments), ref: work.command.id,
                isTimedByCaller: true)
            switch result {
            case .success(let value): return .ok(value)
            case .failure(let failure): return Verdict(failure)
            }
        case .cancel, .log, .replay, .ping:
            return runAtOnce(work) ?? .ok()
        }
    }
}

extension ServiceArguments {
    init(_ arguments: Command.Arguments) {
        switch arguments {
        case .positional(let values): self = .positional(values)
        case .labeled(let members): self = .labeled(members)
        }
    }
}

extension Verdict {
    init(_ opening: Opening) {
        let code = opening.code
        guard code == .ok else {
            var nearest: [String] = []
            if case .notFound(let found) = opening.outcome { nearest = found }
            self.init(code: code, detail: opening.detail, nearest: nearest, room: .router, url: opening.url)
            return
        }
        self.init(
            code: .ok,
            result: [
                "route": opening.route.map(JSONValue.string) ?? .null,
                "url": .string(opening.url),
                "hops": .array(opening.hops.map(JSONValue.string)),
                "value": opening.value ?? .null,
            ],
            url: opening.url)
    }

    init(_ failure: ServiceFailure) {
        self.init(
            code: failure.code, detail: failure.detail,
            nearest: failure.nearest, room: .service)
    }
}
