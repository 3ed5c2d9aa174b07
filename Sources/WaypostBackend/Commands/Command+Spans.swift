import Tracing
import Waypost
import WaypostMessages
import WaypostSpans

/// The span of a command from its sending to its reply, or to the last one of a group.
struct CommandSpan: Sendable {
    private let span: any Span

    /// Begins it, and gives the command its place in the trace; nil without a tracer.
    init?(_ command: inout Command, to audience: Audience, _ settings: BackendConfiguration) {
        guard let tracer = settings.tracer else { return nil }
        self.init(
            tracer, "send \(command.operation.type)", command.id, to: audience, settings,
            // One that names its trace belongs there.
            in: command.trace.map { TraceCarrier(parent: $0, state: command.traceState) })
        span.attributes[SpanWords.lane] = SpanAttribute.string(command.lane)
        // A tracer that does not write one leaves that of the sender.
        let carrier = TraceCarrier(span.context, by: tracer)
        if carrier.parent != nil { (command.trace, command.traceState) = (carrier.parent, carrier.state) }
    }

    /// That of a command whose bytes are as they are: it is of the trace that these name.
    init?(_ command: SealedCommand, _ settings: BackendConfiguration) {
        guard let tracer = settings.tracer else { return nil }
        self.init(
            tracer, "send sealed", command.id, to: .agent(command.agent), settings,
            in: command.trace.map { TraceCarrier(parent: $0, state: command.traceState) })
    }

    private init(
        _ tracer: any Tracer, _ name: String, _ id: String, to audience: Audience,
        _ settings: BackendConfiguration, in carrier: TraceCarrier?
    ) {
        let parent = carrier.map { $0.context(by: tracer) } ?? ServiceContext.current ?? .topLevel
        span = tracer.startSpan(name, context: parent, ofKind: .client)
        span.attributes.merge(
            SpanWords.message(
                "send", id, of: settings.name, to: audience.description, root: settings.topics.root))
    }

    /// One agent replied.
    func ended(_ reply: CommandReply) {
        span.attributes[SpanWords.attempt] = SpanAttribute.int64(Int64(reply.attempt))
        span.ended(with: reply.code)
    }

    /// The agents of a group replied, or did not.
    func ended(_ replies: [CommandReply], silent: Int) {
        span.attributes[SpanWords.replies] = SpanAttribute.int64(Int64(replies.count))
        span.attributes[SpanWords.silent] = SpanAttribute.int64(Int64(silent))
        // What one of them failed with, so that it is found.
        let failure = replies.first { !$0.isOK && $0.code != .notMeant }
        span.ended(with: failure?.code ?? .ok)
        if failure == nil, silent > 0 { fail(BackendError.Kind.noReply.rawValue) }
    }

    /// Does `body` within it, and ends it with that; `ended` says how.
    func around<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value, _ ended: (Value) -> Void
    ) async throws -> Value {
        defer { span.end() }
        do {
            let value = try await ServiceContext.$current.withValue(span.context) { try await body() }
            ended(value)
            return value
        } catch {
            // Not its text, which may quote a URL.
            let failure = error as? BackendError
            if let code = failure?.code { span.ended(with: code) }
            fail(failure.map { $0.code?.name ?? $0.kind.rawValue } ?? "cancelled")
            throw error
        }
    }

    private func fail(_ type: String) {
        span.attributes["error.type"] = SpanAttribute.string(type)
        span.setStatus(SpanStatus(code: .error, message: type))
    }
}
