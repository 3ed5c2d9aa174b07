import InMemoryTracing
import Synchronization
import Tracing

/// A tracer in memory whose spans travel as W3C Trace Context says.
struct WireTracer: Tracer {
    let base = InMemoryTracer(
        idGenerator: .init(
            nextTraceID: { Self.next(digits: 32) }, nextSpanID: { Self.next(digits: 16) }))

    private static let last = Atomic(0)

    private static func next(digits: Int) -> String {
        let text = String(last.add(1, ordering: .relaxed).newValue, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> InMemorySpan {
        base.startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID,
            line: line)
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Carrier == Inject.Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
        injector.inject("of=\(span.spanID)", forKey: "tracestate", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Carrier == Extract.Carrier {
        let parts = extractor.extract(key: "traceparent", from: carrier)?.split(separator: "-") ?? []
        // What a sender says is the state of its own span.
        guard parts.count == 4,
            extractor.extract(key: "tracestate", from: carrier).map({ $0 == "of=\(parts[2])" }) ?? true
        else { return }
        context.inMemorySpanContext = InMemorySpanContext(
            traceID: String(parts[1]), spanID: String(parts[2]), parentSpanID: nil)
    }
}
