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
        let start = MonotonicTime.continuous
        var opening = Opening(
            outcome: .notFound, requested: url, url: url, ref: context.ref, caller: context.caller)
        var snapshot = snapshot
        var isReady = true
        var waitedSince: UInt64?
        // A module may be declared in between, and what its set-up registers must be in the snapshot.
        while isReady, modules.mustWait {
            waitedSince = start
            isReady = await wait(for: .common, context, since: start, &opening)
            snapshot = self.snapshot
        }
        if isReady, let scope = begin(&opening) {
            var target: String? = url
            if !snapshot.state.hooks.isEmpty {
                let pending = PendingOpen(
                    url: url, parameters: parameters, objects: objects, context: context)
                target = await ask(snapshot.state.hooks, pending, scope, &opening)
            }
            if let target,
                let rest = openInPlace(target, &opening, snapshot, parameters, objects, context, scope)
            {
                await open(rest, &opening, parameters, objects, context, scope, waitedSince)
            }
        }
        finish(&opening, since: start)
        // Without the word it is copied.
        return consume opening
    }

    /// Waits for modules; false when the open can't go on.
    nonisolated(nonsending) private func wait(
        for need: ModuleNeed, _ context: OpenContext, since start: UInt64, _ opening: inout Opening
    ) async -> Bool {
        guard let failure = await wait(for: need, context, since: start) else { return true }
        opening.outcome = Outcome(failure)
        return false
    }

    /// Tells listeners of an open; gives what it hands down to others, and nil when it lies within too many.
    private func begin(_ opening: inout Opening) -> OpenScope? {
        let url = opening.requested
        reportLinkedFailures(url: url, ref: opening.ref)
        notify(RouterEvent(.willOpen, url: url, ref: opening.ref, detail: "will open \(url)"))
        do throws(Failure) {
            return try OpenScope.current.entered(by: url)
        } catch {
            opening.outcome = .rejected(error)
            return nil
        }
    }

    /// What is left of an open that can't end in place.
    private enum Rest {
        case service(RouteURL)
        /// What makes it wait, or with none the fallback.
        case route(Boxed<OpenState>, Pause?)
        /// No route has the scheme of the URL, but a module that is being set up may bring one.
        case unread(String)
    }

    /// Opens a URL as long as nothing can wait, as in most opens to their end.
    // Not inlined, so that its state takes no memory of the task.
    @inline(never)
    private func openInPlace(
        _ target: String, _ opening: inout Opening, _ snapshot: RouterSnapshot,
        _ parameters: [String: JSONValue], _ objects: [String: any Sendable], _ context: OpenContext,
        _ scope: OpenScope
    ) -> Rest? {
        let url: RouteURL
        do throws(Failure) {
            url = try snapshot.state.read(target)
        } catch {
            if error.code == .notAllowed, configuration.allowedSchemes == nil, modules.mustWait(for: .all) {
                return .unread(target)
            }
            opening.url = target
            opening.outcome = .rejected(error)
            return nil
        }
        let isRedirected = target != opening.requested
        if isRedirected { opening.hops = [url.text] }
        guard !ServiceURL.matches(url, configuration) else {
            opening.url = url.text
            // A hook may change a call, but not turn an open into one.
            let requested = isRedirected ? try? RouteURL(opening.requested) as RouteURL : url
            guard let requested, ServiceURL.matches(requested, configuration) else {
                opening.outcome = .rejected(.redirectToService(url))
                return nil
            }
            return .service(url)
        }
        var state = OpenState(
            url, requested: opening.requested, hops: opening.hops, in: self, snapshot: snapshot,
            caller: parameters, objects: objects, context: context, scope: scope)
        let waiting = followInPlace(&state, &opening)
        if waiting == nil, state.fallback(after: opening.outcome) == nil { return nil }
        return .route(Boxed(state), waiting)
    }

    nonisolated(nonsending) private func open(
        _ rest: Rest, _ opening: inout Opening, _ parameters: [String: JSONValue],
        _ objects: [String: any Sendable], _ context: OpenContext, _ scope: OpenScope, _ waitedSince: UInt64?
    ) async {
        switch rest {
        case .service(let url): await serve(&opening, url, parameters, context, scope)
        case .unread(let target):
            let since = waitedSince ?? MonotonicTime.continuous
            guard await wait(for: .all, context, since: since, &opening),
                let rest = openInPlace(target, &opening, snapshot, parameters, objects, context, scope)
            else { return }
            await open(rest, &opening, parameters, objects, context, scope, since)
        case .route(let state, let waiting):
            var state = state.value
            state.waitedForModulesSince = waitedSince
            if let waiting { await follow(from: waiting, &state, &opening) }
            guard let fallback = state.fallback(after: opening.outcome) else { return }
            await fallBack(to: fallback, &state, &opening)
        }
    }

    nonisolated(nonsending) private func fallBack(
        to fallback: String, _ state: inout OpenState, _ opening: inout Opening
    ) async {
        if opening.route != nil {
            notify(
                RouterEvent(
                    .warned, url: opening.url, route: opening.route, ref: opening.ref, detail: opening.detail)
            )
        }
        var attempt = opening
        if let rejection = state.fallBack(to: fallback) {
            attempt.outcome = .rejected(rejection)
        } else if let waiting = followInPlace(&state, &attempt) {
            await follow(from: waiting, &state, &attempt)
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

    nonisolated(nonsending) private func serve(
        _ opening: inout Opening, _ url: RouteURL, _ parameters: [String: JSONValue],
        _ context: OpenContext, _ scope: OpenScope
    ) async {
        let call: ServiceURL
        do throws(Failure) {
            call = try ServiceURL(url, caller: parameters)
        } catch {
            opening.outcome = .rejected(error)
            return
        }
        let outcome = await registry.call(
            call.service, call.method, source: call.source, result: call.result,
            deadline: configuration.handlerDeadline, context: context, scope: scope)
        switch outcome {
        case .returned(let value):
            opening.outcome = .served(value)
            opening.value = value
        case .intercepted(let name, let reason): opening.outcome = .intercepted(by: name, reason: reason)
        case .failed(let failure): opening.outcome = Outcome(failure)
        }
    }

    // MARK: Events

    private func finish(_ opening: inout Opening, since start: UInt64) {
        opening.duration = MonotonicTime.elapsed(since: start)
        var record = OpenRecord(at: OpenRecord.now, opening: opening.withoutValues)
        history.withLock { $0.add(&record) }
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
