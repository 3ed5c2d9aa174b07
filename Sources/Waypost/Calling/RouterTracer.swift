/// Takes the parts of opens and calls as spans: what a tracer needs, of which this library has none.
///
/// An agent fills ``OpenContext/tracer`` for each command; a program sets ``RouterConfiguration/tracer`` for its own opens.
/// What is handed over has patterns and names, and no values. Each function awaits its operation once.
public protocol RouterTracer: Sendable {
    /// An open, from its URL to its outcome.
    nonisolated(nonsending) func open(_ operation: nonisolated(nonsending) () async -> OpenTrace) async

    /// A handler, a method or a move.
    ///
    /// - Parameter subject: The route's pattern, or service and method.
    nonisolated(nonsending) func handle(
        _ subject: String, _ operation: nonisolated(nonsending) () async -> Code
    ) async

    /// An interceptor has an open wait.
    ///
    /// - Parameters:
    ///   - gate: What it waits for.
    ///   - interceptor: Which interceptor it is.
    nonisolated(nonsending) func wait(
        for gate: String, by interceptor: String, _ operation: nonisolated(nonsending) () async -> Void
    ) async
}

/// How an open ended, as a tracer is told.
public struct OpenTrace: Sendable, Hashable {
    /// The pattern of the route; nil when none was found.
    public let route: String?
    /// What happened.
    public let code: Code
    /// How many redirects were followed.
    public let redirects: Int
}
