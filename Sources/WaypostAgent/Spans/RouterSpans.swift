public import Tracing
public import Waypost
import WaypostMessages
import WaypostSpans

/// Opens, handlers and waits of a router as spans of swift-distributed-tracing, for opens of the program itself.
///
///     var configuration = RouterConfiguration()
///     configuration.tracer = RouterSpans()
///
/// Commands have them from the agent. The spans name patterns, services and methods, and no values.
public struct RouterSpans: RouterTracer {
    private let given: (any Tracer)?

    /// By the tracer of `InstrumentationSystem` at the time of each open.
    public init() { given = nil }

    /// By this tracer.
    public init(_ tracer: any Tracer) { given = tracer }

    private var tracer: any Tracer { given ?? InstrumentationSystem.tracer }

    /// A span `open` with the route's pattern, the code and how many redirects were followed.
    nonisolated(nonsending) public func open(
        _ operation: nonisolated(nonsending) () async -> OpenTrace
    ) async {
        let span = begin("open")
        let ended = await ServiceContext.$current.withValue(span.context, operation: operation)
        if let route = ended.route { span.attributes[SpanWords.route] = SpanAttribute.string(route) }
        if ended.redirects > 0 {
            span.attributes[SpanWords.hops] = SpanAttribute.int64(Int64(ended.redirects))
        }
        span.ended(with: ended.code)
        span.end()
    }

    /// A span named for the route, or for service and method.
    nonisolated(nonsending) public func handle(
        _ subject: String, _ operation: nonisolated(nonsending) () async -> Code
    ) async {
        let span = begin("handle \(subject)")
        span.attributes[SpanWords.route] = SpanAttribute.string(subject)
        span.ended(with: await ServiceContext.$current.withValue(span.context, operation: operation))
        span.end()
    }

    /// A span named for the gate.
    nonisolated(nonsending) public func wait(
        for gate: String, by interceptor: String, _ operation: nonisolated(nonsending) () async -> Void
    ) async {
        let span = begin("wait \(gate)")
        span.attributes[SpanWords.gate] = SpanAttribute.string(gate)
        span.attributes[SpanWords.interceptor] = SpanAttribute.string(interceptor)
        await ServiceContext.$current.withValue(span.context, operation: operation)
        span.end()
    }

    private func begin(_ name: String) -> any Span {
        tracer.startSpan(name, context: ServiceContext.current ?? .topLevel, ofKind: .internal)
    }
}
