import Synchronization
import Threading

/// A call of an exposed method that is about to begin.
public struct PendingCall: Sendable {
    /// The service that is called.
    public var service: String
    /// The method's full Swift name, `add(a:b:)`, by whichever of its names it was called.
    public var method: String
    /// The arguments as they came, by position or by label; they may not fit the method.
    public var arguments: ServiceArguments
    /// The caller, and its conditions.
    public var context: OpenContext

    /// A call by its parts, for tests of a hook; a registry makes its own.
    public init(
        service: String, method: String, arguments: ServiceArguments = .positional([]),
        context: OpenContext = .init()
    ) {
        self.service = service
        self.method = method
        self.arguments = arguments
        self.context = context
    }
}

/// The decision of a hook before a call.
///
/// Not an ``OpenHookDecision``, for a call cannot go on as another one.
public enum CallHookDecision: Sendable, Hashable {
    /// Goes on.
    case proceed
    /// Ends the call with 403 `INTERCEPTED` and this reason.
    case stop(reason: String)
}

typealias CallHook = Hook<PendingCall, CallHookDecision>

/// How a call ended.
enum CallOutcome: Sendable {
    case returned(JSONValue)
    case intercepted(by: String, reason: String)
    case failed(Failure)

    init(_ result: Result<JSONValue, Failure>) {
        switch result {
        case .success(let value): self = .returned(value)
        case .failure(let failure): self = .failed(failure)
        }
    }

    var result: Result<JSONValue, Failure> {
        switch self {
        case .returned(let value): .success(value)
        case .intercepted(let name, let reason):
            .failure(Failure(.intercepted, "intercepted by \(name): \(reason)"))
        case .failed(let failure): .failure(failure)
        }
    }
}

extension ServiceRegistry {
    /// Adds a hook: it is asked before each call of an exposed method, whatever the caller: the program itself, a
    /// service URL, a command of a backend.
    ///
    ///     router.services.willCall("operators only") { call in
    ///         call.service == "PrinterService" && call.context.caller != "ops"
    ///             ? .stop(reason: "only ops may print") : .proceed
    ///     }
    ///
    /// The method was found then, and may be called; nothing of it has run, and its start is not stored. What the program
    /// fetches by type is no call.
    /// - Parameters:
    ///   - name: Its name in outcomes and logs.
    ///   - deadline: How long it may take, 10 s unless set; later the call fails with 408. It does not count against
    ///     the method's deadline.
    ///   - hook: The decision; a ``Failure`` that it throws ends the call with its code. Several hooks are asked in the
    ///     order of adding, until one stops the call.
    /// - Returns: A handle whose `cancel()` removes it.
    @discardableResult
    public func willCall(
        _ name: String = "willCall", deadline: Duration? = .seconds(10),
        @_inheritActorContext _ hook:
            nonisolated(nonsending) @escaping @Sendable (PendingCall) async throws -> CallHookDecision
    ) -> RegistrationHandle {
        add(.waiting(hook), name, deadline)
    }

    /// The same for a hook without `await`, which runs in place.
    @discardableResult
    public func willCall(
        _ name: String = "willCall", deadline: Duration? = .seconds(10),
        @_inheritActorContext _ hook:
            @escaping @isolated(any) @Sendable (PendingCall) throws -> CallHookDecision
    ) -> RegistrationHandle {
        add(HandlerBody(hook), name, deadline)
    }

    private func add(
        _ work: HandlerBody<PendingCall, CallHookDecision>, _ name: String, _ deadline: Duration?
    ) -> RegistrationHandle {
        let id = state.withLock { state in
            state.lastHook += 1
            state.hooks.append(CallHook(id: state.lastHook, name: name, deadline: deadline, work: work))
            isGuarded.store(true, ordering: .releasing)
            return state.lastHook
        }
        return RegistrationHandle { [weak self] in
            guard let self else { return }
            state.withLock { state in
                state.hooks.removeAll { $0.id == id }
                isGuarded.store(state.isGuarded, ordering: .releasing)
            }
        }
    }

    /// Asks the hooks in turn; nil when the call may go on.
    nonisolated(nonsending) func ask(
        _ service: String, _ method: ExposedMethod, _ source: ArgumentSource, _ context: OpenContext,
        _ scope: OpenScope
    ) async -> CallOutcome? {
        let name = method.description.name
        let call = PendingCall(
            service: service, method: name, arguments: source.arguments, context: context)
        for hook in state.withLock(\.hooks) {
            switch await hook.decide(on: call, clock: clock, scope: scope) {
            case .success(.proceed): continue
            case .success(.stop(let reason)): return .intercepted(by: hook.name, reason: reason)
            case .failure(let failure): return .failed(failure)
            }
        }
        return nil
    }
}
