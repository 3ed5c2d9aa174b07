/// The caller of an open or of a call, and its conditions.
public struct OpenContext: Sendable {
    /// All of it, in one word that is nil for an open of the program itself: a context is copied often.
    private struct Values: Sendable {
        var ref: String?
        var caller: String?
        var deadline: Duration?
        var attempt = 1
        var trace: String?
        var isTimedByCaller = false
        var beforeHandler: (nonisolated(nonsending) @Sendable (HandlerStart) async throws -> Void)?
        var onWait: (@Sendable (Bool) -> Void)?
        var onProgress: (@Sendable (HandlerProgress) -> Void)?
        var typedValues: [String: JSONValue]?
        var tracer: (any RouterTracer)?
    }

    private var values: Boxed<Values>?

    /// The id of the command that opens or calls; all events have it.
    public var ref: String? {
        get { values?.value.ref }
        set { change { $0.ref = newValue } }
    }
    /// Who asks: the sender of the command; nil for the program itself.
    public var caller: String? {
        get { values?.value.caller }
        set { change { $0.caller = newValue } }
    }
    /// The most time the handler may take; the configuration's unless set.
    public var deadline: Duration? {
        get { values?.value.deadline }
        set { change { $0.deadline = newValue } }
    }
    /// Which attempt this is, from 1: a command that a crash interrupted may run again.
    public var attempt: Int {
        get { values?.value.attempt ?? 1 }
        set { change { $0.attempt = newValue } }
    }
    /// The W3C `traceparent` of the command, for what the handler asks of others; nil when it has none.
    public var trace: String? {
        get { values?.value.trace }
        set { change { $0.trace = newValue } }
    }
    /// Whether the caller ends the handler at its deadline, by cancelling the task, so that the router need not.
    var isTimedByCaller: Bool {
        get { values?.value.isTimedByCaller ?? false }
        set { change { $0.isTimedByCaller = newValue } }
    }
    /// Awaited before each handler or exposed method runs, after redirects and interceptors; nothing unless set.
    ///
    /// When it throws, the handler does not run and the open ends with what was thrown. The wait does not count
    /// against the handler's deadline.
    var beforeHandler: (nonisolated(nonsending) @Sendable (HandlerStart) async throws -> Void)? {
        get { values?.value.beforeHandler }
        set { change { $0.beforeHandler = newValue } }
    }
    /// Called with true when an open begins to wait for a gate, and with false when it goes on or ends.
    var onWait: (@Sendable (Bool) -> Void)? {
        get { values?.value.onWait }
        set { change { $0.onWait = newValue } }
    }
    /// Called with how far the handler is.
    var onProgress: (@Sendable (HandlerProgress) -> Void)? {
        get { values?.value.onProgress }
        set { change { $0.onProgress = newValue } }
    }
    /// The values of which the URL has the texts.
    var typedValues: [String: JSONValue]? {
        get { values?.value.typedValues }
        set { change { $0.typedValues = newValue } }
    }

    /// Takes its parts as spans; that of the configuration unless set.
    public var tracer: (any RouterTracer)? {
        get { values?.value.tracer }
        set { change { $0.tracer = newValue } }
    }

    var isTraced: Bool { values.map { $0.value.tracer != nil } ?? false }

    /// That of the program itself, without conditions.
    public init() {}

    /// A context; everything has a default.
    public init(
        ref: String? = nil, caller: String? = nil, deadline: Duration? = nil, attempt: Int = 1,
        trace: String? = nil
    ) {
        values = Boxed(
            Values(ref: ref, caller: caller, deadline: deadline, attempt: attempt, trace: trace))
    }

    /// The same with what an agent does around a handler.
    package init(
        ref: String? = nil, caller: String? = nil, deadline: Duration? = nil, attempt: Int = 1,
        trace: String? = nil, isTimedByCaller: Bool = false,
        beforeHandler: (nonisolated(nonsending) @Sendable (HandlerStart) async throws -> Void)? = nil,
        onWait: (@Sendable (Bool) -> Void)? = nil,
        onProgress: (@Sendable (HandlerProgress) -> Void)? = nil
    ) {
        values = Boxed(
            Values(
                ref: ref, caller: caller, deadline: deadline, attempt: attempt,
                trace: trace, isTimedByCaller: isTimedByCaller, beforeHandler: beforeHandler, onWait: onWait,
                onProgress: onProgress))
    }

    private mutating func change(_ body: (inout Values) -> Void) {
        var changed = values?.value ?? Values()
        body(&changed)
        values = Boxed(changed)
    }
}
