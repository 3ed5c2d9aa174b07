import Synchronization
import Threading

extension Router {
    /// Opens a URL.
    ///
    /// It always ends in exactly one outcome; it throws nothing. A handler that does not wait runs on the caller's
    /// thread. Opens and calls that handlers make within each other end with 422 `CHAIN` when there are more than 8.
    /// - Parameters:
    ///   - url: The URL; white space around it is ignored.
    ///   - parameters: Parameters beside the query.
    ///   - objects: Native values for a destination in this process: models, closures.
    ///   - context: The caller, and its conditions.
    public func open(
        _ url: String, parameters: [String: JSONValue] = [:], objects: [String: any Sendable] = [:],
        context: OpenContext = .init()
    ) async -> Opening {
        let start = ContinuousClock.now
        var opening = Opening(
            outcome: .opened, requested: url, url: url, ref: context.ref, caller: context.caller)
        var failure: RouteFailure?
        var snapshot = snapshot
        // A module may be declared in between, and what its set-up registers must be in the snapshot.
        while failure == nil, modules.mustWait {
            failure = await loadModules(within: context.deadline ?? configuration.handlerDeadline)
            snapshot = self.snapshot
        }
        if let failure {
            opening.outcome = .failed(failure)
        } else {
            reportLinkedFailures(url: url, ref: context.ref)
            notify(RouterEvent(.willOpen, url: url, ref: context.ref, detail: "will open \(url)"))
            do throws(Rejection) {
                let scope = try OpenScope.current.entered(by: url)
                var target: String? = url
                if !snapshot.state.hooks.isEmpty {
                    let pending = PendingOpen(
                        url: url, parameters: parameters, objects: objects, context: context)
                    target = await ask(snapshot.state.hooks, pending, scope, &opening)
                }
                if let target { await open(target, &opening, snapshot, parameters, objects, context, scope) }
            } catch {
                opening.outcome = .rejected(error)
            }
        }
        opening.duration = ContinuousClock.now - start
        finish(opening)
        return opening
    }

    private func open(
        _ target: String, _ opening: inout Opening, _ snapshot: RouterSnapshot,
        _ parameters: [String: JSONValue],
        _ objects: [String: any Sendable], _ context: OpenContext, _ scope: OpenScope
    ) async {
        let url: RouteURL
        switch snapshot.state.read(target) {
        case .success(let read): url = read
        case .failure(let rejection):
            opening.url = target
            opening.outcome = .rejected(rejection)
            return
        }
        let isRedirected = target != opening.requested
        if isRedirected { opening.hops = [url.text] }
        guard !ServiceURL.matches(url, configuration) else {
            opening.url = url.text
            // A hook may change a call, but not turn an open into one.
            let requested = isRedirected ? try? RouteURL(opening.requested) as RouteURL : url
            guard let requested, ServiceURL.matches(requested, configuration) else {
                opening.outcome = .rejected(.redirectToService(url))
                return
            }
            await serve(&opening, url, parameters, context, scope)
            return
        }
        var state = OpenState(
            url, requested: opening.requested, hops: opening.hops, snapshot: snapshot, caller: parameters,
            objects: objects,
            context: context, scope: scope)
        await follow(&state, &opening)
        guard state.isForFallback(opening.outcome), let fallback = state.fallback else { return }
        if opening.route != nil {
            notify(
                RouterEvent(
                    .warned, url: opening.url, route: opening.route, ref: opening.ref, detail: opening.detail)
            )
        }
        var attempt = opening
        if let rejection = state.fallBack(to: fallback) {
            attempt.outcome = .rejected(rejection)
        } else {
            await follow(&state, &attempt)
        }
        if case .opened = attempt.outcome {
            attempt.outcome = .fellBack(to: attempt.url)
            attempt.nearestRoutes = nil
            opening = attempt
        } else {
            let detail = "the fallback was not opened: \(attempt.detail)"
            notify(RouterEvent(.warned, url: fallback, ref: opening.ref, detail: detail))
        }
    }

    // MARK: Services

    private func serve(
        _ opening: inout Opening, _ url: RouteURL, _ parameters: [String: JSONValue],
        _ context: OpenContext, _ scope: OpenScope
    ) async {
        let call: ServiceURL
        do throws(Rejection) {
            call = try ServiceURL(url, caller: parameters)
        } catch {
            opening.outcome = .rejected(error)
            return
        }
        let result = await registry.call(
            call.service, call.method, source: call.source, result: call.result,
            deadline: context.deadline ?? configuration.handlerDeadline,
            isTimedByCaller: context.isTimedByCaller, ref: context.ref, beforeHandler: context.beforeHandler,
            scope: scope)
        switch result {
        case .success(let value):
            opening.outcome = .served(value)
            opening.value = value
        case .failure(let failure) where failure.code.status != .rejected:
            opening.outcome = .failed(RouteFailure(failure))
        case .failure(let failure):
            opening.outcome = .rejected(
                Rejection(failure.code, failure.detail, nearest: failure.nearest))
        }
    }

    // MARK: Routes

    /// What trying a candidate led to.
    private enum Attempt {
        case ended(Outcome)
        case passed
        case redirect(to: String, by: String)
        /// It waited, and routes or maps have changed since it began.
        case outdated
    }

    /// Tries one candidate after the other until an outcome is reached.
    private func follow(_ state: inout OpenState, _ opening: inout Opening) async {
        let ref = state.context.ref
        func onRedirect(from: String, to: String, name: String?) {
            let event = name.map { "\($0) redirected" } ?? "relocated"
            notify(RouterEvent(.redirected, url: to, ref: ref, detail: "\(event) \(from) to \(to)"))
        }
        defer {
            opening.url = state.url.text
            opening.hops = state.hops
            opening.route = state.route
        }
        while true {
            switch state.next(onRedirect: onRedirect) {
            case .rejected(let rejection):
                opening.outcome = .rejected(rejection)
                return
            case .notFound:
                opening.outcome = .notFound
                opening.nearestRoutes = state.nearest
                opening.given = Boxed(state.parameters)
                return
            case .candidate(let matched):
                switch await attempt(matched, &state, &opening) {
                case .ended(let outcome):
                    opening.outcome = outcome
                    return
                case .passed: continue
                case .outdated: state.restart(snapshot)
                case .redirect(let target, let name):
                    guard let rejection = state.redirect(to: target, by: name, onRedirect) else { continue }
                    opening.outcome = .rejected(rejection)
                    return
                }
            }
        }
    }

    /// Tries one route: the interceptors, then its handler.
    private func attempt(
        _ matched: MatchedRoute, _ state: inout OpenState, _ opening: inout Opening
    ) async -> Attempt {
        // Only inside a set-up: other opens wait for all modules.
        if let obstacle = matched.record.route.module?.obstacle {
            return .ended(.rejected(Rejection(.module, obstacle)))
        }
        var request = state.request(for: matched)
        for interceptor in state.snapshot.state.interceptors
        where interceptor.sees(matched.record, request.url) {
            if let end = await ask(interceptor, &request, &state) { return end }
        }
        opening.metadata = request.metadata
        if !request.parameters.isEmpty || request.standardJumpType != .push {
            opening.presentation = request.presentation
        }
        if opening.presentation.withParents == true {
            request.parents = parents(of: request.url, matched.record)
        }
        if !request.parameters.isEmpty || !request.parameters.objects.isEmpty {
            opening.given = Boxed(request.parameters)
        }
        for warning in opening.presentation.warnings {
            notify(
                RouterEvent(
                    .warned, url: request.url.text, route: request.route,
                    ref: request.context.ref, detail: warning))
        }
        return await run(matched.record, request, state.scope, &opening)
    }

    /// Asks an interceptor, and again when the gate was opened for which it let the open wait; nil when it lets it pass.
    private func ask(
        _ interceptor: Interceptor, _ request: inout RouteRequest, _ state: inout OpenState
    ) async -> Attempt? {
        while true {
            let seen = OpenGate.openings.load(ordering: .acquiring)
            let timed = await interceptor.work.run(
                with: request, WorkLimit(interceptor.deadline), clock: configuration.clock,
                scope: state.scope)
            switch timed {
            case .finished(.success(.proceed)): return nil
            case .finished(.success(.rewrite(let changes))):
                request.parameters.rewrite(changes)
                return nil
            case .finished(.success(.redirect(let target))):
                return .redirect(to: target, by: interceptor.name)
            case .finished(.success(.stop(let reason))):
                return .ended(.intercepted(by: interceptor.name, reason: reason))
            case .finished(.success(.wait(let gate, let limit))):
                let since = state.waitingSince ?? .now
                state.waitingSince = since
                let left = limit - (.now - since)
                if let outcome = await wait(for: gate, left, interceptor, request, seen) {
                    return .ended(outcome)
                }
                if snapshot !== state.snapshot { return .outdated }
            case .deadline: return .ended(.failed(.deadline(interceptor.name, interceptor.deadline)))
            case .canceled, .finished(.failure):
                return .ended(.failed(.canceled(RouteURL.withoutValues(request.url.text))))
            }
        }
    }

    /// Nil when the gate was opened in time.
    private func wait(
        for gate: OpenGate, _ limit: Duration, _ interceptor: Interceptor, _ request: RouteRequest,
        _ seen: UInt64
    ) async -> Outcome? {
        let url = request.url.text
        let context = request.context
        func tooLong() -> Outcome {
            .failed(
                RouteFailure(.deadline, "\(RouteURL.withoutValues(url)) waited too long for \(gate.name)"))
        }
        // An interceptor that opens its gate itself would be asked for ever.
        guard limit > .zero else { return tooLong() }
        let open = WaitingOpen(
            url: url, gate: gate.name, interceptor: interceptor.name, since: OpenRecord.now,
            ref: context.ref, caller: context.caller)
        let number: UInt64
        do throws(Rejection) {
            number = try waiting.withLock { (waiting) throws(Rejection) in try waiting.add(open) }
        } catch {
            return .rejected(error)
        }
        defer { waiting.withLock { $0.remove(number) } }
        notify(
            RouterEvent(
                .waiting, url: url, route: request.route, ref: context.ref,
                detail: "\(RouteURL.withoutValues(url)) waits for \(gate.name)"))
        context.onWait?(true)
        defer { context.onWait?(false) }
        switch await gate.wait(since: seen, atMost: limit, clock: configuration.clock) {
        case .finished: return nil
        case .canceled: return .failed(.canceled(RouteURL.withoutValues(url)))
        case .deadline: return tooLong()
        }
    }

    private func run(
        _ record: StoredRoute, _ request: RouteRequest, _ scope: OpenScope, _ opening: inout Opening
    ) async -> Attempt {
        if let beforeHandler = request.context.beforeHandler {
            do {
                try await beforeHandler(
                    .init(isIdempotent: record.route.idempotent, subject: request.route))
                try Task.checkCancellation()
            } catch let failure as ServiceFailure {
                return .ended(.failed(RouteFailure(failure)))
            } catch {
                return .ended(Self.outcome(of: error, request))
            }
        }
        let limit = limit(in: request.context)
        let timed = await record.route.work.run(
            with: request, limit, clock: configuration.clock, scope: scope)
        switch timed {
        case .finished(.success(.pass)): return .passed
        case .finished(.success(.opened(let value))):
            opening.value = value
            return .ended(.opened)
        case .finished(.success(.made(let native, let value))):
            opening.value = value
            opening.native = native
            return .ended(.opened)
        case .finished(.failure(let error)): return .ended(Self.outcome(of: error, request))
        case .canceled: return .ended(.failed(.canceled(RouteURL.withoutValues(request.url.text))))
        case .deadline: return .ended(.failed(.deadline(request.route, limit.duration)))
        }
    }

    private static func outcome(of error: any Error, _ request: RouteRequest) -> Outcome {
        switch error {
        case let error as ParameterError: .rejected(.badField("\(request.route): \(error)"))
        case let rejection as Rejection: .rejected(rejection)
        case let failure as RouteFailure: .failed(failure)
        case is CancellationError: .failed(.canceled(RouteURL.withoutValues(request.url.text)))
        case let error as DecodingError:
            .failed(.handler("\(request.route) failed: \(error.place) \(error.reason)"))
        default: .failed(.handler("\(request.route) failed: \(error)"))
        }
    }

    private func limit(in context: OpenContext) -> WorkLimit {
        WorkLimit(
            context.deadline ?? configuration.handlerDeadline, isTimedByCaller: context.isTimedByCaller)
    }

    // MARK: Events

    private func finish(_ opening: Opening) {
        history.withLock { $0.add(opening) }
        guard hasListeners.load(ordering: .acquiring) else { return }
        let (events, openings) = listeners.withLock { ($0.events, $0.openings) }
        if !events.isEmpty { events.notify(RouterEvent(opening)) }
        openings.notify(opening)
    }
}

extension RouterEvent {
    /// The last event of an open.
    init(_ opening: Opening) {
        let kind: Kind
        switch opening.outcome {
        case .opened, .served: kind = .opened
        case .intercepted: kind = .intercepted
        case .fellBack: kind = .fellBack
        case .notFound, .rejected, .failed: kind = .failed
        }
        self.init(
            kind, url: opening.url, route: opening.route, ref: opening.ref, detail: opening.detail,
            code: opening.code, nearest: opening.nearest)
    }
}
