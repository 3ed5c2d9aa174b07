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
    nonisolated(nonsending) public func open(
        _ url: String, parameters: [String: JSONValue] = [:], objects: [String: any Sendable] = [:],
        context: OpenContext = .init()
    ) async -> Opening {
        let call = PendingOpen(url: url, parameters: parameters, objects: objects, context: context)
        guard !isTraced, !context.isTraced else { return await traced(call) }
        return await perform(call)
    }

    /// An open within its span.
    nonisolated(nonsending) private func traced(_ call: PendingOpen) async -> Opening {
        var call = call
        guard let tracer = call.context.tracer ?? configuration.tracer else { return await perform(call) }
        call.context.tracer = tracer
        var opening: Opening?
        await tracer.open { [call] in
            let ended = await perform(call)
            opening = ended
            return OpenTrace(route: ended.route, code: ended.code, redirects: ended.hops.count)
        }
        // One that awaited nothing takes no open away.
        guard let opening else { return await perform(call) }
        return opening
    }

    // Inlined, for each async function takes memory of the task.
    @inline(__always)
    nonisolated(nonsending) private func perform(_ call: PendingOpen) async -> Opening {
        switch begin(call) {
        case .ended(let opening): return opening
        case .waits(let open):
            while true {
                let event = await goOn(open)
                switch advance(&open.state, after: event) {
                case .ended(let opening): return opening
                case .waits(let pause): open.pause = pause
                }
            }
        }
    }

    /// How far an open came without waiting, where its state lies, or with it.
    private enum Progress<Waiting> {
        case ended(Opening)
        case waits(Waiting)
    }

    // Not inlined, so that the state of an open that never waits takes no memory of the task.
    @inline(never)
    private func begin(_ call: PendingOpen) -> Progress<SuspendedOpen> {
        var state = OpenState(call, since: MonotonicTime.continuous, snapshot)
        // Most end with their first step, and are not carried through the loop.
        let first = step(&state)
        if case .ended(let end) = first, state.fallback(after: end.outcome) == nil {
            return .ended(finish(&state, end))
        }
        return switch advance(&state, after: first) {
        case .ended(let opening): .ended(opening)
        case .waits(let pause): .waits(SuspendedOpen(state, pause))
        }
    }

    /// Goes on with an open until it ends or has to wait.
    private func advance(_ state: inout OpenState, after event: OpenEvent) -> Progress<Pause> {
        var event = event
        while true {
            switch consume event {
            case .nothing: break
            case .outdated: state.restart(snapshot)
            case .redirect(let target, let name):
                if let rejection = state.redirect(to: target, by: name, in: self) {
                    event = .ended(OpenEnd(.rejected(rejection)))
                    continue
                }
            case .waits(let pause): return .waits(pause)
            case .ended(let end):
                guard let fallback = state.fallback(after: end.outcome) else {
                    return .ended(finish(&state, end))
                }
                event = fallBack(to: fallback, &state, end)
                continue
            }
            event = step(&state)
        }
    }

    /// Takes the next step of an open.
    private func step(_ state: inout OpenState) -> OpenEvent {
        if state.stage == .called {
            // After the snapshot was made: what their set-ups register must be in it.
            guard !modules.mustWait else { return .waits(.modules(.common)) }
            reportLinkedFailures(url: state.call.url, ref: state.context.ref)
            notify(
                RouterEvent(
                    .willOpen, url: state.call.url, ref: state.context.ref,
                    detail: "will open \(state.call.url)"))
            if let failure = state.begin() { return .ended(OpenEnd(.rejected(failure))) }
            guard state.snapshot.state.hooks.isEmpty else { return .waits(.hooks) }
        }
        if state.stage == .begun {
            do throws(Failure) {
                try state.read()
            } catch {
                // No route has its scheme, but a module that is being set up may bring one.
                let mayCome = error.code == .notAllowed && configuration.allowedSchemes == nil
                guard mayCome, modules.mustWait(for: .all) else { return .ended(OpenEnd(.rejected(error))) }
                return .waits(.modules(.all))
            }
            guard state.stage == .followed else {
                return state.wasCall
                    ? .waits(.service) : .ended(OpenEnd(.rejected(.redirectToService(state.url))))
            }
        }
        switch state.next(in: self) {
        case .rejected(let rejection): return .ended(OpenEnd(.rejected(rejection)))
        case .notFound:
            return modules.mustWait(for: .all) ? .waits(.modules(.all)) : .ended(OpenEnd(.notFound))
        case .candidate(let matched):
            if matched.takesWhatIsLeft, modules.mustWait(for: .all) { return .waits(.modules(.all)) }
            return attemptInPlace(matched, &state) ?? .waits(.candidate(matched))
        }
    }

    private func fallBack(to fallback: String, _ state: inout OpenState, _ end: OpenEnd) -> OpenEvent {
        let opening = state.opening(end)
        if let route = opening.route {
            notify(
                RouterEvent(
                    .warned, url: opening.url, route: route, ref: opening.ref, detail: opening.detail))
        }
        let rejection = state.fallBack(to: fallback, after: opening)
        return rejection.map { .ended(OpenEnd(.rejected($0))) } ?? .nothing
    }

    // MARK: Events

    func notifyRedirect(_ from: String, _ to: String, by name: String?, _ ref: String?) {
        let event = name.map { "\($0) redirected" } ?? "relocated"
        notify(RouterEvent(.redirected, url: to, ref: ref, detail: "\(event) \(from) to \(to)"))
    }

    private func finish(_ state: inout OpenState, _ end: OpenEnd) -> Opening {
        let opening = state.opening(end)
        if let original = state.original?.value, !opening.isSuccess {
            let detail = "the fallback was not opened: \(opening.detail)"
            notify(RouterEvent(.warned, url: original.fallback, ref: opening.ref, detail: detail))
            var first = original.opening
            first.duration = opening.duration
            return note(first)
        }
        return note(consume opening)
    }

    /// Keeps an opening in the history, and tells listeners of it.
    // Given away and returned, for it would be copied otherwise.
    private func note(_ opening: consuming Opening) -> Opening {
        var record = OpenRecord(at: OpenRecord.now, opening: opening.withoutValues)
        history.withLock { $0.add(&record) }
        if hasListeners.load(ordering: .acquiring) {
            let (events, openings) = listeners.withLock { ($0.events, $0.openings) }
            if !events.isEmpty { events.notify(RouterEvent(copy opening)) }
            openings.notify(copy opening)
        }
        return opening
    }

    /// Asks the hooks in turn, each with the URL of the one before.
    nonisolated(nonsending) func ask(_ hooks: [OpenHook], _ state: inout OpenState) async -> OpenEvent {
        for hook in hooks {
            var pending = state.call
            pending.url = state.url.text
            switch await hook.decide(on: pending, clock: configuration.clock, scope: state.scope) {
            case .success(.proceed): continue
            case .success(.open(let url)):
                notifyRedirect(pending.url, url, by: hook.name, pending.context.ref)
                state.begin(at: url)
            case .success(.stop(let reason)):
                return .ended(OpenEnd(.intercepted(by: hook.name, reason: reason)))
            case .failure(let failure): return .ended(OpenEnd(Outcome(failure)))
            }
        }
        return .nothing
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
