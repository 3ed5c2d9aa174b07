import Threading
import Tracing
import Waypost
import WaypostMessages
import WaypostSpans

/// The spans of commands: one of each from its arrival to the broker's acknowledgement of its reply, and in it one each for
/// its wait in the lane, for the commit of its result and for the way of the reply.
///
/// What the router does in between is in it too, see ``RouterSpans``. Without a tracer there is none of this.
final class CommandSpans: Sendable {
    private struct Entry {
        let span: any Span
        /// Where it is: in its lane, on its way to the disk, or to the broker.
        var phase: (any Span)?
        /// What replies, log lines and failures of it have.
        let trace: TraceCarrier
    }

    /// More are not kept, as when replies wait for a broker that is away.
    private static let maximum = 10_000

    private let tracer: any Tracer
    let router: RouterSpans
    private let agent: String
    private let root: String
    private let entries = Guarded<[Int64: Entry]>([:])

    init(_ tracer: any Tracer, agent: String, root: String) {
        (self.tracer, self.agent, self.root) = (tracer, agent, root)
        router = RouterSpans(tracer)
    }

    /// A command is new.
    func received(_ command: ReceivedCommand, _ sequence: Int64) {
        let header = try? command.header.get()
        let carrier = TraceCarrier(parent: command.address.trace, state: command.address.traceState)
        begin(
            sequence, id: command.id, of: command.sender, header, attempt: 1, in: carrier.context(by: tracer))
    }

    /// A command is taken up that an earlier run of the agent left.
    ///
    /// - Parameters:
    ///   - sent: What its sender wrote.
    ///   - earlier: That of the attempt before, to which it is linked.
    func resumed(_ job: CommandJob, sent: TraceCarrier, earlier: String?) {
        let before = TraceCarrier(parent: earlier)
        let context = (sent.parent == nil ? before : sent).context(by: tracer)
        begin(
            job.sequence, id: job.id, of: job.sender, job.header, attempt: job.attempt, in: context,
            link: before.parent == nil ? nil : before.context(by: tracer))
    }

    private func begin(
        _ sequence: Int64, id: String, of sender: String, _ header: CommandHeader?, attempt: Int,
        in context: ServiceContext, link: ServiceContext? = nil
    ) {
        guard entries.withLock({ $0.count }) < Self.maximum else { return }
        let kind = header?.kind?.rawValue ?? "command"
        let span = tracer.startSpan("process \(kind)", context: context, ofKind: .consumer)
        span.attributes.merge(SpanWords.message("process", id, of: sender, to: agent, root: root))
        span.attributes[SpanWords.lane] = header.map { SpanAttribute.string($0.lane) }
        span.attributes[SpanWords.attempt] = SpanAttribute.int64(Int64(attempt))
        if let link { span.addLink(SpanLink(context: link, attributes: [:])) }
        let entry = Entry(
            span: span, phase: phase("wait in lane", of: span), trace: TraceCarrier(span.context, by: tracer))
        entries.withLock { $0[sequence] = entry }
    }

    private func phase(_ name: String, of span: any Span) -> any Span {
        tracer.startSpan(name, context: span.context, ofKind: .internal)
    }

    /// What its replies, its log lines and its failures have; nil where the tracer writes none.
    func trace(of sequence: Int64) -> TraceCarrier? {
        entries.withLock { $0[sequence]?.trace }.flatMap { $0.parent == nil ? nil : $0 }
    }

    /// Its turn has come: does `body` within its span.
    func around<Value>(
        _ sequence: Int64, _ body: nonisolated(nonsending) () async -> Value
    ) async -> Value {
        guard let span = move(sequence, to: nil) else { return await body() }
        return await ServiceContext.$current.withValue(span.context, operation: body)
    }

    /// It has ended, and its result goes to the disk.
    func ended(_ command: EndedCommand) {
        guard let span = move(command.job.sequence, to: "store") else { return }
        span.ended(with: command.result.code)
    }

    /// Its result is on disk, and its reply goes to the broker.
    func stored(_ sequences: [Int64]) { for sequence in sequences { _ = move(sequence, to: "reply") } }

    /// The broker has its reply.
    func replied(_ sequence: Int64) { end(entries.withLock { $0.removeValue(forKey: sequence) }) }

    /// They were not stored, and come again.
    func forget(_ sequences: [Int64]) { for sequence in sequences { replied(sequence) } }

    /// The agent stops; what is left goes on with its next start.
    func stopped() {
        let left = entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.map { $0 }
        }
        for entry in left { end(entry) }
    }

    private func end(_ entry: Entry?) {
        entry?.phase?.end()
        entry?.span.end()
    }

    /// Ends the phase in which a command is, and begins the next.
    private func move(_ sequence: Int64, to name: String?) -> (any Span)? {
        guard let entry = entries.withLock({ $0[sequence] }) else { return nil }
        entry.phase?.end()
        let next = name.map { phase($0, of: entry.span) }
        entries.withLock { $0[sequence]?.phase = next }
        return entry.span
    }
}
