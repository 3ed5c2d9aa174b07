import Synchronization
import Threading

/// An open that waits.
final class SuspendedOpen {
    var state: OpenState
    var pause: Pause

    init(_ state: OpenState, _ pause: Pause) {
        self.state = state
        self.pause = pause
    }
}

extension Router {
    /// Waits for what an open can't go on without.
    nonisolated(nonsending) func goOn(_ open: SuspendedOpen) async -> OpenEvent {
        switch open.pause {
        case .modules(let need):
            let failure = await wait(for: need, &open.state)
            return failure.map { .ended(OpenEnd(Outcome($0))) } ?? .outdated
        case .hooks: return await ask(open.state.snapshot.state.hooks, &open.state)
        case .service: return .ended(await serve(open.state))
        case .candidate(let matched): return await attempt(matched, &open.state)
        }
    }

    /// Runs the handler of a route that never waits, where nothing else has to be waited for; nil where something may.
    ///
    /// The only way beside ``attempt(_:_:)``, of which it spares an open its waiting state.
    func attemptInPlace(_ matched: MatchedRoute, _ state: inout OpenState) -> OpenEvent? {
        let record = matched.record
        let interceptors = state.snapshot.state.interceptors
        guard record.route.work.neverWaits(in: state.scope), state.context.beforeHandler == nil,
            record.route.module?.obstacle == nil, state.guarding == nil,
            !interceptors.contains(where: { $0.sees(matched, state.url) })
        else { return nil }
        var request = state.request(for: matched, in: self)
        // The pages above may be guarded where this one is not.
        guard
            interceptors.isEmpty && !state.snapshot.guardsPages
                || request.parameters[Presentation.parentsKey] == nil
        else { return nil }
        if prepare(request, &state) {
            request.parents = parents(of: request.url, record).compactMap(RouteRequest.Parent.init)
        }
        switch record.route.work.runInPlace(with: request, scope: state.scope) {
        case nil: return nil
        case .finished(.success(let answer)): return .of(answer)
        case let failed?: return .of(failed.result(of: request.route, .callerManaged))
        }
    }

    /// Tries one route: its module, the interceptors, then its handler.
    nonisolated(nonsending) private func attempt(
        _ matched: MatchedRoute, _ state: inout OpenState
    ) async -> OpenEvent {
        if let module = matched.record.route.module, module.obstacle != nil,
            let event = await whenSetUp(module, matched, &state)
        {
            return event
        }
        var request = state.request(for: matched, in: self)
        if let gate = state.gate, let event = await ask(gate, &request, &state) { return event }
        for interceptor in state.snapshot.state.interceptors
        where interceptor.sees(matched, request.url) {
            if let event = await ask(interceptor, &request, &state) { return event }
        }
        if prepare(request, &state) {
            request.parents = await openParents(of: request, matched.record, state)
        }
        let record = matched.record
        let snapshot = state.snapshot
        let result = await record.route.work.call(
            with: request, HandlerStart(isIdempotent: record.route.idempotent, subject: request.route),
            request.context, within: configuration.handlerDeadline, clock: configuration.clock,
            scope: state.scope, unless: { self.snapshot !== snapshot })
        return result.map { .of($0) } ?? .outdated
    }

    /// Waits for the module of a route; nil when its handler may run.
    nonisolated(nonsending) private func whenSetUp(
        _ module: DeclaredModule, _ matched: MatchedRoute, _ state: inout OpenState
    ) async -> OpenEvent? {
        if let failure = await wait(for: .module(module), &state) {
            return .ended(OpenEnd(Outcome(failure)))
        }
        // It failed, or this is in a set-up, which waits for no other.
        if let obstacle = module.obstacle {
            return .ended(OpenEnd(.rejected(Failure(.module, obstacle))))
        }
        if snapshot !== state.snapshot { return .outdated }
        return state.ownRedirect(of: matched, in: self)
            .map { .redirect(to: $0, by: matched.record.pattern.text) }
    }

    /// Waits for modules; gives the reason when the open can't go on.
    nonisolated(nonsending) private func wait(
        for need: ModuleNeed, _ state: inout OpenState
    ) async -> Failure? {
        let since = state.waitedForModulesSince ?? MonotonicTime.continuous
        state.waitedForModulesSince = since
        let limit = state.context.deadline ?? configuration.handlerDeadline
        return await modules.wait(for: need, within: limit, since: since)
    }

    nonisolated(nonsending) private func serve(_ state: OpenState) async -> OpenEnd {
        let call: ServiceURL
        do throws(Failure) {
            call = try ServiceURL(state.url, caller: state.call.parameters)
        } catch {
            return OpenEnd(.rejected(error))
        }
        let outcome = await registry.call(
            call.service, call.method, source: call.source, result: call.result,
            deadline: configuration.handlerDeadline, context: state.context, scope: state.scope)
        return switch outcome {
        case .returned(let value): OpenEnd(.served(value), value: value)
        case .intercepted(let name, let reason): OpenEnd(.intercepted(by: name, reason: reason))
        case .failed(let failure): OpenEnd(Outcome(failure))
        }
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
        let interceptors = snapshot.state.interceptors.filter { $0.sees(matched, url) }
        for interceptor in [parent.gate?.value].compactMap(\.self) + interceptors {
            let asked = RouteRequest(
                url: url, requested: request.requested, route: matched.record.pattern.text,
                parameters: parent.parameters, hops: parent.hops, context: request.context,
                metadata: matched.record.route.metadata, owner: self,
                standardJumpType: parent.standardJumpType)
            switch await interceptor.hook.decide(on: asked, clock: configuration.clock, scope: state.scope) {
            case .success(.proceed): continue
            case .success(.rewrite(let changes)): parent.parameters.rewrite(changes)
            default: return false
            }
        }
        return true
    }

    /// Notes what the handler is about to get, where it gets anything; true when the pages above are to lie below it.
    private func prepare(_ request: RouteRequest, _ state: inout OpenState) -> Bool {
        guard !request.parameters.isEmpty || !request.metadata.isEmpty || request.standardJumpType != .push
        else { return false }
        let presentation = request.presentation
        state.receive(request, presentation)
        for warning in presentation.warnings {
            notify(
                RouterEvent(
                    .warned, url: request.url.text, route: request.route,
                    ref: request.context.ref, detail: warning))
        }
        return presentation.withParents == true
    }

    /// Asks an interceptor, and again when the gate was opened for which it let the open wait; nil when it lets it pass.
    nonisolated(nonsending) private func ask(
        _ interceptor: Interceptor, _ request: inout RouteRequest, _ state: inout OpenState
    ) async -> OpenEvent? {
        while true {
            let seen = OpenGate.openings.load(ordering: .acquiring)
            switch await interceptor.hook.decide(on: request, clock: configuration.clock, scope: state.scope)
            {
            case .success(.proceed): return nil
            case .success(.rewrite(let changes)):
                request.parameters.rewrite(changes)
                return nil
            case .success(.redirect(let target)): return .redirect(to: target, by: interceptor.name)
            case .success(.stop(let reason)):
                return .ended(OpenEnd(.intercepted(by: interceptor.name, reason: reason)))
            case .success(.wait(let gate, let limit)):
                let since = state.waitingSince ?? MonotonicTime.continuous
                state.waitingSince = since
                let left = limit - MonotonicTime.elapsed(since: since)
                if let outcome = await wait(for: gate, left, interceptor, request, seen) {
                    return .ended(OpenEnd(outcome))
                }
                if snapshot !== state.snapshot { return .outdated }
            case .failure(let failure): return .ended(OpenEnd(Outcome(failure)))
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
        var ending = TimedResult<Void>.deadline
        if let tracer = context.tracer {
            await tracer.wait(for: gate.name, by: interceptor.name) {
                ending = await gate.wait(since: seen, atMost: limit, clock: configuration.clock)
            }
        } else {
            ending = await gate.wait(since: seen, atMost: limit, clock: configuration.clock)
        }
        switch ending {
        case .finished: return nil
        case .canceled: return .failed(.canceled(RouteURL.withoutValues(url)))
        case .deadline: return tooLong()
        }
    }
}

extension OpenEvent {
    /// What the answer of a handler means.
    static func of(_ result: Result<RouteAnswer, Failure>) -> OpenEvent {
        switch result {
        case .failure(let failure): .ended(OpenEnd(Outcome(failure)))
        case .success(let answer): .of(answer)
        }
    }

    static func of(_ answer: RouteAnswer) -> OpenEvent {
        switch answer.kind {
        case .pass: .nothing
        case .opened(let value): .ended(OpenEnd(.opened, value: value))
        case .openedWithObject(let native, let value):
            .ended(OpenEnd(.opened, value: value, native: native))
        }
    }
}
