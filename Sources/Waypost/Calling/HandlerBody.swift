import Threading

/// How work with a deadline ended.
enum TimedResult<Value: Sendable>: Sendable {
    case finished(Result<Value, any Error>)
    case deadline
    case canceled
}

extension TimedResult {
    /// The value, or the failure of what ran.
    func result(
        of subject: @autoclosure () -> String, _ limit: WorkLimit
    ) -> Result<Value, Failure> {
        switch self {
        case .finished(.success(let value)): .success(value)
        case .finished(.failure(let error)): .failure(Failure(of: error, from: subject()))
        case .canceled: .failure(.canceled(subject()))
        case .deadline: .failure(.deadline(subject(), limit.duration))
        }
    }
}

/// Who ends work that takes too long.
enum WorkLimit: Sendable {
    /// This library, when the time is up or the caller is cancelled.
    case time(Duration)
    /// This library, when the caller is cancelled.
    case untilCancelled
    /// The caller itself: the work runs in place, without a task or a timer of its own.
    case callerManaged

    init(_ deadline: Duration?, isTimedByCaller: Bool = false) {
        self = isTimedByCaller ? .callerManaged : deadline.map(WorkLimit.time) ?? .untilCancelled
    }

    /// The time, for messages.
    var duration: Duration? { if case .time(let duration) = self { duration } else { nil } }
}

/// The body of a handler, interceptor or hook: a closure that never waits needs no task of its own, and no timer.
enum HandlerBody<Input: Sendable, Value: Sendable>: Sendable {
    case immediate(@Sendable (Input) throws -> Value)
    /// What may wait; it runs where its caller does.
    typealias Waiting = nonisolated(nonsending) @Sendable (Input) async throws -> Value

    case waiting(Waiting)

    /// A closure without `await`; one that belongs to an actor waits for it anyway.
    init(_ body: @escaping @isolated(any) @Sendable (Input) throws -> Value) {
        self.init(on: body.isolation, unisolated(handler: body))
    }

    /// The same for one that takes something beside the input.
    init<First: Sendable>(
        _ body: @escaping @isolated(any) @Sendable (First, Input) throws -> Value,
        first: @escaping @Sendable (Input) throws -> First
    ) {
        let inPlace = unisolated(body)
        self.init(on: body.isolation) { try inPlace(try first($0), $0) }
    }

    /// A closure that may only be called on this actor; anywhere when there is none.
    init(on actor: (any Actor)?, _ body: @escaping @Sendable (Input) throws -> Value) {
        guard let actor else {
            self = .immediate(body)
            return
        }
        self = .waiting { try await Self.run(body, with: $0, on: actor) }
    }

    private static func run(
        _ body: @Sendable (Input) throws -> Value, with input: Input, on actor: isolated any Actor
    ) async throws -> Value {
        try body(input)
    }

    /// One that gives something else of the same.
    func map<Other>(_ change: @escaping @Sendable (Value) throws -> Other) -> HandlerBody<Input, Other> {
        switch self {
        case .immediate(let body): .immediate { try change(try body($0)) }
        case .waiting(let body): .waiting { try change(try await body($0)) }
        }
    }

    nonisolated(nonsending) func callAsFunction(_ input: Input) async throws -> Value {
        switch self {
        case .immediate(let body): try body(input)
        case .waiting(let body): try await body(input)
        }
    }

    /// Runs it as ``withDeadline(_:clock:scope:_:)`` does.
    nonisolated(nonsending) func run(
        with input: Input, _ limit: WorkLimit, clock: any Clock<Duration>, scope: OpenScope
    ) async -> TimedResult<Value> {
        if let timed = runInPlace(with: input, scope: scope) { return timed }
        return await withDeadline(limit, clock: clock, scope: scope) { try await self(input) }
    }

    /// Runs what a program wrote: a route's handler, a method, a move of a navigator.
    ///
    /// There is no other way to it, but ``runInPlace(with:scope:)`` for one that never waits.
    /// Before it runs, the context's ``OpenContext/beforeHandler`` is awaited, and that wait does not count against the
    /// deadline.
    ///
    /// - Parameter isOutdated: asked after that wait: whether what led here may have been decided otherwise by now.
    /// - Returns: nil when it is outdated, and did not run.
    nonisolated(nonsending) func call(
        with input: Input, _ start: @autoclosure () -> HandlerStart, _ context: OpenContext,
        within deadline: Duration?, clock: any Clock<Duration>, scope: OpenScope,
        unless isOutdated: () -> Bool
    ) async -> Result<Value, Failure>? {
        if let beforeHandler = context.beforeHandler {
            do {
                try await beforeHandler(start())
                try Task.checkCancellation()
            } catch {
                return .failure(Failure(of: error, from: start().subject))
            }
            if isOutdated() { return nil }
        }
        var scope = scope
        scope.context = context
        let limit = WorkLimit(context.deadline ?? deadline, isTimedByCaller: context.isTimedByCaller)
        if let tracer = context.tracer {
            let subject = start().subject
            var result: Result<Value, Failure>?
            await tracer.handle(subject) { [scope] in
                let ended = await run(with: input, limit, clock: clock, scope: scope).result(
                    of: subject, limit)
                result = ended
                return switch ended {
                case .success: .ok
                case .failure(let failure): failure.code
                }
            }
            // One that awaited nothing takes no handler away.
            if let result { return result }
        }
        return await run(with: input, limit, clock: clock, scope: scope).result(of: start().subject, limit)
    }

    /// Whether it never waits and so runs in place.
    func neverWaits(in scope: OpenScope) -> Bool {
        if case .immediate = self { scope.executor == nil } else { false }
    }

    /// Runs it where it never waits; nil where it may.
    @inline(__always)
    func runInPlace(with input: Input, scope: OpenScope) -> TimedResult<Value>? {
        guard case .immediate(let body) = self, scope.executor == nil else { return nil }
        guard !Task.isCancelled else { return .canceled }
        do {
            return .finished(.success(try OpenScope.$current.withValue(scope) { try body(input) }))
        } catch {
            return .finished(.failure(error))
        }
    }
}

/// Runs the work, and stops waiting for it when the time is up or the caller was cancelled.
///
/// The work is then cancelled, but not waited for: work that ignores cancellation must not hold the caller. So it runs
/// in a task of its own, and the first to end decides the outcome. It begins on the caller's thread, and work that
/// never waits ends there too: then there is no change of thread and no timer. Work that blocks its thread holds the
/// caller.
nonisolated(nonsending) func withDeadline<Value: Sendable>(
    _ limit: WorkLimit, clock: any Clock<Duration>, scope: OpenScope = .current,
    _ work: nonisolated(nonsending) @escaping @Sendable () async throws -> Value
) async -> TimedResult<Value> {
    if case .callerManaged = limit {
        do {
            return .finished(.success(try await OpenScope.$current.withValue(scope, operation: work)))
        } catch {
            return .finished(.failure(error))
        }
    }
    guard !Task.isCancelled else { return .canceled }
    let race = Race<TimedResult<Value>>()
    // Bound here and not around the call, for that would take the caller off its actor.
    @Sendable nonisolated(nonsending) func enter() async {
        do {
            race.finish(.finished(.success(try await work())))
        } catch {
            race.finish(.finished(.failure(error)))
        }
    }
    let worker = OpenScope.$current.withValue(scope) {
        // A preference costs a record in the task, also when it is none.
        if let executor = scope.executor {
            Task.immediate(executorPreference: executor) { await enter() }
        } else {
            Task.immediate { await enter() }
        }
    }
    if let outcome = race.first { return outcome }
    let timer = limit.duration.map { race.finish(.deadline, after: $0, on: clock) }
    let outcome = await withTaskCancellationHandler {
        await race.outcome()
    } onCancel: {
        Scheduling.undisturbed { race.finish(.canceled) }
    }
    worker.cancel()
    timer?()
    return outcome
}

/// The closure without the mark `@isolated(any)`, to be called on its actor, or anywhere when it has none.
///
/// These are the only unsafe casts of the library, for the language has no such conversion: it calls a marked closure with `await`
/// only, and then leaves the caller's actor also for one that has none (SE-0431). A parameter without the mark is no way
/// out: a closure that is written within an actor would not belong to it, and could use nothing of it. The mark is part
/// of the type alone, and both are called alike.
func unisolated<each Input, Value>(
    _ body: @escaping @isolated(any) @Sendable (repeat each Input) throws -> Value
) -> @Sendable (repeat each Input) throws -> Value {
    unsafeBitCast(MarkedClosure(body: body), to: PlainClosure<repeat each Input, Value>.self).body
}

/// The same for one argument, as handlers have: without a pack, a call costs less.
func unisolated<Input, Value>(
    handler body: @escaping @isolated(any) @Sendable (Input) throws -> Value
) -> @Sendable (Input) throws -> Value {
    unsafeBitCast(body, to: (@Sendable (Input) throws -> Value).self)
}

/// The same for a factory.
func unisolated<Value>(
    factory body: @escaping @isolated(any) @Sendable () throws -> Value
) -> @Sendable () throws -> Value {
    unsafeBitCast(body, to: (@Sendable () throws -> Value).self)
}

/// The same for a listener, which can't fail.
func unisolated<Event>(
    listener body: @escaping @isolated(any) @Sendable (Event) -> Void
) -> @Sendable (Event) -> Void {
    unsafeBitCast(body, to: (@Sendable (Event) -> Void).self)
}

// Closures with any number of arguments can't be cast by themselves.
private struct MarkedClosure<each Input, Value> {
    let body: @isolated(any) @Sendable (repeat each Input) throws -> Value
}

private struct PlainClosure<each Input, Value> {
    let body: @Sendable (repeat each Input) throws -> Value
}

extension Failure {
    /// What an error means that user code threw.
    ///
    /// - Parameter subject: What ran: the pattern of a route, a method, an interceptor.
    init(of error: any Error, from subject: String) {
        self =
            switch error {
            // A failure is none with this code, and must not pass for success.
            case let failure as Failure where failure.code == .ok:
                .handlerFailed("\(subject) threw a failure with the code \(failure.code): \(failure.detail)")
            case let failure as Failure: failure
            case let error as ParameterError: .badField("\(subject): \(error)")
            case is CancellationError: .canceled(subject)
            default: .handlerFailed("\(subject) failed: \(error.words)")
            }
    }
}

/// What is about to run: the handler of a route, or an exposed method of a service.
package struct HandlerStart: Sendable {
    /// Whether it was declared that running it twice is the same as running it once.
    package var isIdempotent: Bool
    /// The route's pattern, or `Service.method(label:)`.
    package var subject: String

    /// A start by its parts.
    init(isIdempotent: Bool, subject: String) {
        self.isIdempotent = isIdempotent
        self.subject = subject
    }
}

/// What a program is asked before something happens, as a router or a registry keeps it: a hook or an interceptor.
struct Hook<Subject: Sendable, Decision: Sendable>: Sendable {
    let id: UInt64
    /// Its name in outcomes and logs.
    let name: String
    /// How long it may take; nil for as long as its caller waits.
    let deadline: Duration?
    let work: HandlerBody<Subject, Decision>

    /// What it decides, or why it does not.
    nonisolated(nonsending) func decide(
        on subject: Subject, clock: any Clock<Duration>, scope: OpenScope
    ) async -> Result<Decision, Failure> {
        let limit = WorkLimit(deadline)
        return await work.run(with: subject, limit, clock: clock, scope: scope).result(of: name, limit)
    }
}
