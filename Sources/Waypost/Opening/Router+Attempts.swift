import Synchronization
import Threading

extension Router {
    /// What trying a candidate led to.
    private enum Attempt {
        case ended(Outcome)
        case passed
        case redirect(to: String, by: String)
        /// It waited, and routes or maps have changed since it began.
        case outdated
    }

    /// What an open has to wait for.
    enum Pause {
        /// A candidate that may wait.
        case candidate(MatchedRoute)
        /// The modules that are being set up: no route takes the URL by now, or only a fallback.
        case modules
    }

    /// Tries one candidate after the other as long as nothing can wait.
    ///
    /// - Returns: What makes it wait; nil when an outcome is reached.
    func followInPlace(_ state: inout OpenState, _ opening: inout Opening) -> Pause? {
        let ref = state.context.ref
        while true {
            let attempt: Attempt
            switch state.next(onRedirect: { notifyRedirect($0, $1, $2, ref) }) {
            case .rejected(let rejection): attempt = .ended(.rejected(rejection))
            case .notFound:
                if modules.mustWait(for: .all) { return .modules }
                attempt = .ended(.notFound)
                opening.nearestRoutes = state.nearest
                opening.parameters = state.parameters
            case .candidate(let matched):
                if matched.takesWhatIsLeft, modules.mustWait(for: .all) { return .modules }
                guard let inPlace = attemptInPlace(matched, state, &opening) else {
                    return .candidate(matched)
                }
                attempt = inPlace
            }
            if apply(attempt, &state, &opening) { return nil }
        }
    }

    /// The same to the end, from what makes it wait.
    nonisolated(nonsending) func follow(
        from waiting: Pause, _ state: inout OpenState, _ opening: inout Opening
    ) async {
        var waiting: Pause? = waiting
        while let pause = waiting {
            let attempt: Attempt
            switch pause {
            case .candidate(let matched): attempt = await self.attempt(matched, &state, &opening)
            case .modules:
                let failure = await wait(for: .all, &state)
                attempt = failure.map { .ended(Outcome($0)) } ?? .outdated
            }
            if apply(attempt, &state, &opening) { return }
            waiting = followInPlace(&state, &opening)
        }
    }

    /// Applies what an attempt led to; true when it was the last one.
    private func apply(_ attempt: consuming Attempt, _ state: inout OpenState, _ opening: inout Opening)
        -> Bool
    {
        switch consume attempt {
        case .ended(let outcome): opening.outcome = outcome
        case .passed: return false
        case .outdated:
            state.restart(snapshot)
            return false
        case .redirect(let target, let name):
            let ref = state.context.ref
            let rejection = state.redirect(to: target, by: name) { notifyRedirect($0, $1, $2, ref) }
            guard let rejection else { return false }
            opening.outcome = .rejected(rejection)
        }
        opening.url = state.url.text
        opening.hops = state.hops
        opening.route = state.route
        return true
    }

    private func notifyRedirect(_ from: String, _ to: String, _ name: String?, _ ref: String?) {
        let event = name.map { "\($0) redirected" } ?? "relocated"
        notify(RouterEvent(.redirected, url: to, ref: ref, detail: "\(event) \(from) to \(to)"))
    }

    /// Tries one route where nothing can wait; nil where something may.
    private func attemptInPlace(
        _ matched: MatchedRoute, _ state: OpenState, _ opening: inout Opening
    ) -> Attempt? {
        let record = matched.record
        guard record.route.work.neverWaits(in: state.scope), state.context.beforeHandler == nil,
            record.route.module?.obstacle == nil,
            !state.snapshot.state.interceptors.contains(where: { $0.sees(matched, state.url) })
        else { return nil }
        var request = state.request(for: matched)
        // The pages above may be guarded where this one is not.
        guard state.snapshot.state.interceptors.isEmpty || request.parameters[Presentation.parentsKey] == nil
        else { return nil }
        if prepare(&request, &opening).withParents == true {
            request.parents = parents(of: request.url, record).compactMap(RouteRequest.Parent.init)
        }
        return record.route.work.runInPlace(with: request, scope: state.scope)
            .map { Self.attempt($0.result(of: request.route, .callerManaged), &opening) }
    }

    /// Tries one route: the interceptors, then its handler.
    nonisolated(nonsending) private func attempt(
        _ matched: MatchedRoute, _ state: inout OpenState, _ opening: inout Opening
    ) async -> Attempt {
        if let module = matched.record.route.module, module.obstacle != nil,
            let end = await whenSetUp(module, matched, &state)
        {
            return end
        }
        var request = state.request(for: matched)
        for interceptor in state.snapshot.state.interceptors
        where interceptor.sees(matched, request.url) {
            if let end = await ask(interceptor, &request, &state) { return end }
        }
        if prepare(&request, &opening).withParents == true {
            request.parents = await openParents(of: request, matched.record, state)
        }
        let route = matched.record.route
        let result = await route.work.call(
            with: request, HandlerStart(isIdempotent: route.idempotent, subject: request.route),
            request.context, within: configuration.handlerDeadline, clock: configuration.clock,
            scope: state.scope)
        return Self.attempt(result, &opening)
    }

    /// Waits for the module of a route; nil when its handler may run.
    nonisolated(nonsending) private func whenSetUp(
        _ module: DeclaredModule, _ matched: MatchedRoute, _ state: inout OpenState
    ) async -> Attempt? {
        if let failure = await wait(for: .module(module), &state) { return .ended(Outcome(failure)) }
        // It failed, or this is in a set-up, which waits for no other.
        if let obstacle = module.obstacle { return .ended(.rejected(Failure(.module, obstacle))) }
        if snapshot !== state.snapshot { return .outdated }
        return state.ownRedirect(of: matched).map { .redirect(to: $0, by: matched.record.pattern.text) }
    }

    /// Waits for modules; gives the reason when the open can't go on.
    nonisolated(nonsending) private func wait(for need: ModuleNeed, _ state: inout OpenState) async
        -> Failure?
    {
        let since = state.waitedForModulesSince ?? MonotonicTime.continuous
        state.waitedForModulesSince = since
        return await wait(for: need, state.context, since: since)
    }

    /// The pages above, as far as their interceptors let them open at once: a page that is closed to its caller is
    /// not shown below another either.
    nonisolated(nonsending) private func openParents(
        of request: RouteRequest, _ record: StoredRoute, _ state: OpenState
    ) async -> [RouteRequest.Parent] {
        var open: [RouteRequest.Parent] = []
        for var resolution in parents(of: request.url, record) {
            guard await isOpen(&resolution, below: request, state),
                let parent = RouteRequest.Parent(resolution)
            else { continue }
            open.append(parent)
        }
        return open
    }

    nonisolated(nonsending) private func isOpen(
        _ parent: inout Resolution, below request: RouteRequest, _ state: OpenState
    ) async -> Bool {
        guard let matched = parent.matched, let url = RouteURL(parent.url) else { return false }
        // Not those of the open's snapshot, for the parent was found in this one.
        for interceptor in snapshot.state.interceptors where interceptor.sees(matched, url) {
            let asked = RouteRequest(
                url: url, requested: request.requested, route: matched.record.pattern.text,
                parameters: parent.parameters, hops: parent.hops, context: request.context,
                metadata: matched.record.route.metadata, services: registry, owner: self,
                standardJumpType: parent.standardJumpType)
            let timed = await interceptor.work.run(
                with: asked, WorkLimit(interceptor.deadline), clock: configuration.clock, scope: state.scope)
            switch timed {
            case .finished(.success(.proceed)): continue
            case .finished(.success(.rewrite(let changes))): parent.parameters.rewrite(changes)
            default: return false
            }
        }
        return true
    }

    /// Notes what the handler is about to get.
    private func prepare(_ request: inout RouteRequest, _ opening: inout Opening) -> Presentation {
        if opening.metadata != request.metadata { opening.metadata = request.metadata }
        var presentation = opening.presentation
        if !request.parameters.isEmpty || request.standardJumpType != .push {
            let asked = request.presentation
            if asked != presentation {
                presentation = asked
                opening.presentation = asked
            }
        }
        if !request.parameters.isEmpty { opening.parameters = request.parameters }
        for warning in presentation.warnings {
            notify(
                RouterEvent(
                    .warned, url: request.url.text, route: request.route,
                    ref: request.context.ref, detail: warning))
        }
        return presentation
    }

    /// Asks an interceptor, and again when the gate was opened for which it let the open wait; nil when it lets it pass.
    nonisolated(nonsending) private func ask(
        _ interceptor: Interceptor, _ request: inout RouteRequest, _ state: inout OpenState
    ) async -> Attempt? {
        while true {
            let seen = OpenGate.openings.load(ordering: .acquiring)
            let limit = WorkLimit(interceptor.deadline)
            let decision = await interceptor.work.run(
                with: request, limit, clock: configuration.clock, scope: state.scope
            ).result(of: interceptor.name, limit)
            switch decision {
            case .success(.proceed): return nil
            case .success(.rewrite(let changes)):
                request.parameters.rewrite(changes)
                return nil
            case .success(.redirect(let target)): return .redirect(to: target, by: interceptor.name)
            case .success(.stop(let reason)):
                return .ended(.intercepted(by: interceptor.name, reason: reason))
            case .success(.wait(let gate, let limit)):
                let since = state.waitingSince ?? MonotonicTime.continuous
                state.waitingSince = since
                let left = limit - MonotonicTime.elapsed(since: since)
                if let outcome = await wait(for: gate, left, interceptor, request, seen) {
                    return .ended(outcome)
                }
                if snapshot !== state.snapshot { return .outdated }
            case .failure(let failure): return .ended(Outcome(failure))
            }
        }
    }

    /// Nil when the gate was opened in time.
    nonisolated(nonsending) private func wait(
        for gate: OpenGate, _ limit: Duration, _ interceptor: Interceptor, _ request: RouteRequest,
        _ seen: UInt64
    ) async -> Outcome? {
        let url = request.url.text
        let context = request.context
        func tooLong() -> Outcome {
            .failed(
                Failure(.deadline, "\(RouteURL.withoutValues(url)) waited too long for \(gate.name)"))
        }
        // An interceptor that opens its gate itself would be asked for ever.
        guard limit > .zero else { return tooLong() }
        let open = WaitingOpen(
            url: url, gate: gate.name, interceptor: interceptor.name, since: OpenRecord.now,
            ref: context.ref, caller: context.caller)
        let number: UInt64
        do throws(Failure) {
            number = try waiting.withLock { (waiting) throws(Failure) in try waiting.add(open) }
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

    /// What the answer of a handler means.
    private static func attempt(_ result: Result<RouteAnswer, Failure>, _ opening: inout Opening) -> Attempt {
        switch result {
        case .failure(let failure): return .ended(Outcome(failure))
        case .success(let answer):
            switch answer.kind {
            case .pass: return .passed
            case .opened(let value): opening.value = value
            case .openedWithObject(let native, let value):
                opening.value = value
                opening.native = native
            }
            return .ended(.opened)
        }
    }
}
