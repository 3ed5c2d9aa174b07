import Threading
import Waypost
import WaypostMessages

/// Turns a command into an open or a call, and its outcome into a result.
final class CommandRunner: Sendable {
    /// Awaited just before a handler runs; throws when it must not.
    typealias BeforeHandler = @Sendable (HandlerStart) async throws -> Void

    /// What the commands about the agent itself do; connected by the agent.
    struct AgentCommands: Sendable {
        /// The answer to `ping`.
        var health: @Sendable () -> JSONValue
        /// The answer to `replay`: recent events, or how many are published again.
        var replay: @Sendable (Replay) throws(Failure) -> JSONValue
        /// The answer to `maps`, of at most so many bytes.
        var maps: @Sendable (MapsRequest, _ bytes: Int) throws(Failure) -> JSONValue
        /// The maps in force; nil while another one is put in force.
        var layers: @Sendable () -> [AppliedMap.Layer]?
        /// Changes what is published; returns the lowest level that is published then.
        var setLevel: @Sendable (LevelOverride) -> LogLevel
        /// What the command of a row does, as long as it waits or runs.
        var progress: @Sendable (_ sequence: Int64) -> CommandProgress?
    }

    private let router: Router
    private let scope: HandlerScope?
    private let clock: AgentClock
    private let history: CommandHistory
    private let limits: JSONLimits
    private let agentCommands = Guarded<AgentCommands?>(nil)

    /// - Parameter limits: of the payloads of commands.
    init(
        router: Router, around scope: HandlerScope?, clock: AgentClock, history: CommandHistory,
        limits: JSONLimits
    ) {
        self.router = router
        self.scope = scope
        self.clock = clock
        self.history = history
        self.limits = limits
    }

    func connect(_ commands: AgentCommands) { agentCommands.withLock { $0 = commands } }

    /// Runs what needs no lane; nil for opens, calls, moves, resolves, cancels, and what is not decoded yet.
    func runAtOnce(_ job: CommandJob) -> CommandResult? {
        job.operation.flatMap { runAtOnce($0, for: job) }
    }

    private func runAtOnce(_ operation: Command.Operation, for job: CommandJob) -> CommandResult? {
        switch operation {
        case .open, .call, .navigate, .cancel, .resolve: return nil
        case .maps(let request):
            do throws(Failure) {
                let maps = agentCommands.withLock { $0 }?.maps
                return .ok(try maps?(request, history.pageBytes) ?? .null)
            } catch {
                return CommandResult(error, origin: .map)
            }
        case .ping: return .ok(agentCommands.withLock { $0 }?.health() ?? .null)
        case .replay(let replay):
            do throws(Failure) {
                return .ok(try agentCommands.withLock { $0 }?.replay(replay) ?? .null)
            } catch {
                return CommandResult(error, origin: .agent)
            }
        case .failures(let request): return history.failures(request, at: clock.wall())
        case .inspect(let target, let sender):
            let progress = agentCommands.withLock { $0 }?.progress
            guard let target else {
                return history.pending(of: sender ?? job.sender, besides: job.sequence) { progress?($0) }
            }
            return history.commands(target, of: sender ?? job.sender) { progress?($0) }
        case .log(let level, let tag, let milliseconds):
            let override = LevelOverride(
                level: level, tag: tag, until: clock.wall() + milliseconds, sender: job.sender)
            let lowest = agentCommands.withLock { $0 }?.setLevel(override) ?? level
            return .ok(["level": .string(lowest.topicLevel), "until": .int(override.until)])
        }
    }

    /// Runs an open, a call, a move or a resolve; the executor ends it at its deadline.
    func run(
        _ job: CommandJob, tracer: (any RouterTracer)? = nil, beforeHandler: @escaping BeforeHandler,
        onWait: @escaping @Sendable (Bool) -> Void,
        onProgress: @escaping @Sendable (HandlerProgress) -> Void
    ) async -> CommandResult {
        if job.end == nil, let reason = job.header.condition?.refusal(in: router.relocationContext) {
            return CommandResult(Failure(.notMeant, reason), origin: .agent)
        }
        let operation: Command.Operation
        switch job.content {
        case .decoded(let decoded): operation = decoded
        case .ended(let result): return result
        case .encoded:
            do throws(Failure) {
                operation = try job.decode(limits)
            } catch {
                return CommandResult(error, origin: .intake)
            }
        }
        var context = OpenContext(
            ref: job.id, caller: job.sender, attempt: job.attempt, trace: job.address.trace,
            isTimedByCaller: true, beforeHandler: beforeHandler, onWait: onWait, onProgress: onProgress)
        if let tracer { context.tracer = tracer }
        switch operation {
        case .open, .call, .navigate: break
        case .resolve(let request): return resolve(request, for: job.sender)
        case .cancel, .failures, .inspect, .log, .maps, .replay, .ping:
            return runAtOnce(operation, for: job) ?? .ok()
        }
        // Costs nothing where there is no trace.
        guard context.trace != nil else { return await run(operation, context) }
        return await CommandReference.$current.withValue(job.reference) { [context] in
            await run(operation, context)
        }
    }

    private func run(_ operation: Command.Operation, _ context: OpenContext) async -> CommandResult {
        guard let scope else { return await router.run(operation, context) }
        var result = CommandResult(
            Failure(.handlerFailed, "what runs around handlers did not await its operation"), origin: .agent)
        await scope { result = await router.run(operation, context) }
        return result
    }

    /// Where URLs would lead; runs the routes' conditional redirects and nothing else.
    private func resolve(_ request: ResolveRequest, for sender: String) -> CommandResult {
        let layers = agentCommands.withLock { $0 }?.layers
        let answer = router.answer(
            request, for: sender, bytes: history.pageBytes, under: { layers?() }, while: { !Task.isCancelled }
        )
        return answer.map(CommandResult.ok) ?? .canceled
    }
}

/// What runs around each handler, method and move that a command asks for; it must await its operation once.
public typealias HandlerScope =
    @Sendable (_ operation: nonisolated(nonsending) () async -> Void) async -> Void
