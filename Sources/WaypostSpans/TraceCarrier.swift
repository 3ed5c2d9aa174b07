package import Tracing
import WaypostMessages

/// A place in a trace as it travels: the two texts of W3C Trace Context.
package struct TraceCarrier: Sendable, Hashable {
    /// A valid `traceparent`.
    package var parent: String?
    /// A valid `tracestate`; only beside a parent.
    package var state: String?

    package init(parent: String? = nil, state: String? = nil) {
        self.parent = TraceParent.valid(parent)
        self.state = self.parent == nil ? nil : TraceState.valid(state)
    }

    /// That of a span, as its tracer writes it; what it writes beside is not sent.
    package init(_ context: ServiceContext, by tracer: any Tracer) {
        var found = TraceCarrier()
        tracer.inject(context, into: &found, using: CarrierInjector())
        self.init(parent: found.parent, state: found.state)
    }

    /// What a tracer makes of it; the beginning of a trace where there is none.
    package func context(by tracer: any Tracer) -> ServiceContext {
        var context = ServiceContext.topLevel
        if parent != nil { tracer.extract(self, into: &context, using: CarrierExtractor()) }
        return context
    }
}

private struct CarrierInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout TraceCarrier) {
        switch key.lowercased() {
        case TraceParent.property: carrier.parent = value
        case TraceState.property: carrier.state = value
        default: break
        }
    }
}

private struct CarrierExtractor: Extractor {
    func extract(key: String, from carrier: TraceCarrier) -> String? {
        switch key.lowercased() {
        case TraceParent.property: carrier.parent
        case TraceState.property: carrier.state
        default: nil
        }
    }
}

extension InstrumentationSystem {
    /// The tracer that the program has chosen; nil when that is none.
    package static var chosenTracer: (any Tracer)? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : tracer
    }
}
