import Foundation
import InMemoryTracing
import Logging
import MQTTLink
import TestSupport
import Testing
import Threading
import Tracing
import Waypost
import WaypostAgent
import WaypostBackend

/// The spans of a command, with a tracer in memory on both sides of a real broker.
@Suite(.timeLimit(.minutes(60)))
struct TraceTreeTests {
    /// An agent of the test's process, until it is stopped.
    private struct Running {
        let agent: Agent
        let task: Task<Void, any Error>

        func stop() async throws {
            task.cancel()
            _ = await task.result
        }
    }

    private static func start(
        _ broker: TestBroker, _ router: Router, _ tracer: WireTracer, state: String
    ) throws -> Running {
        var configuration = AgentConfiguration(
            agent: "k1", stateDirectory: state,
            link: MQTTLinkConfiguration(brokers: [try BrokerURL(broker.url)], clientID: "k1"))
        configuration.tracer = tracer
        configuration.stopWithin = .seconds(1)
        let agent = try Agent(
            configuration, router: router, logger: Logger(label: "k1") { _ in SwiftLogNoOpLogHandler() })
        return Running(agent: agent, task: Task { try await agent.run() })
    }

    private static func backend(
        _ broker: TestBroker, _ tracer: WireTracer,
        _ version: MQTTLinkConfiguration.ProtocolVersion = .automatic
    ) throws -> BackendConfiguration {
        var configuration = try BackendConfiguration(broker: broker.url, name: "shop")
        configuration.tracer = tracer
        configuration.version = version
        return configuration
    }

    /// A span of that name, once it has ended.
    private static func span(
        _ name: String, _ tracer: WireTracer, where fits: (FinishedInMemorySpan) -> Bool = { _ in true }
    ) async throws -> FinishedInMemorySpan {
        var found: FinishedInMemorySpan?
        try await eventually("the end of \(name)") {
            found = tracer.base.finishedSpans.first { $0.operationName == name && fits($0) }
            return found != nil
        }
        return try #require(found)
    }

    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v5, .v311])
    func `an open is one tree from the backend to the handler and back`(
        version: MQTTLinkConfiguration.ProtocolVersion
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let tracer = WireTracer()
        let inside = Guarded<InMemorySpanContext?>(nil)
        let router = Router()
        try router.register("app://orders/:id") { request in
            inside.withLock { $0 = ServiceContext.current?.inMemorySpanContext }
            return .opened(request.context.trace.map { .string($0) } ?? .null)
        }
        let agent = try Self.start(broker, router, tracer, state: broker.directory + "/k1")
        let configuration = try Self.backend(broker, tracer, version)
        let outer = tracer.base.startSpan("request", context: .topLevel)
        try await Backend.with(configuration) { backend in
            let k1 = backend.agent("k1")
            try await eventually("the agent") { (try? await k1.ping()) != nil }
            let told = try await ServiceContext.withValue(outer.context) {
                try await k1.open("app://orders/7?note=hunter2")
            }
            let code = await #expect(throws: BackendError.self) { try await k1.open("app://nothing/hunter2") }
            #expect(code?.code == .noRoute)
            let seen: InMemorySpanContext? = inside.withLock { $0 }
            let handler = try #require(seen)
            // Logs, failures and what a handler asks of others are of the agent's span.
            let process = try await Self.span("process open", tracer) { $0.traceID == outer.traceID }
            #expect(told.value == .string("00-\(process.traceID)-\(process.spanID)-01"))
            let send = try await Self.span("send open", tracer) { $0.traceID == outer.traceID }
            #expect(send.parentSpanID == outer.spanID && process.parentSpanID == send.spanID)
            #expect(send.kind == .client && process.kind == .consumer)
            let open = try await Self.span("open", tracer) { $0.parentSpanID == process.spanID }
            let handle = try await Self.span("handle app://orders/:id", tracer)
            #expect(handle.parentSpanID == open.spanID && handler.spanID == handle.spanID)
            for phase in ["wait in lane", "store", "reply"] {
                _ = try await Self.span(phase, tracer) { $0.parentSpanID == process.spanID }
            }
            let failed = try await Self.span("process open", tracer) { $0.traceID != outer.traceID }
            #expect(failed.attributes["waypost.code"]?.toSpanAttribute() == .int64(404))
            #expect(failed.status?.code == .error)
            // One that is awaited later, one that was sealed, and one to a group.
            let pending = try ServiceContext.withValue(outer.context) {
                try k1.send(.call("Nothing", "at", []))
            }
            #expect(try await pending.reply().code == .noService)
            let call = try await Self.span("send call", tracer)
            #expect(call.parentSpanID == outer.spanID && call.status?.code == .error)
            let called = try await Self.span("process call", tracer)
            #expect(called.parentSpanID == call.spanID)
            let sealed = try k1.seal(.open("app://orders/8"), SendOptions(trace: told.value.stringValue))
            _ = try await backend.send(sealed).reply()
            let resent = try await Self.span("send sealed", tracer)
            #expect(resent.parentSpanID == process.spanID && resent.traceID == outer.traceID)
            let group = try await ServiceContext.withValue(outer.context) {
                try await backend.group("all").send(.navigate(.back))
            }
            #expect(group.replies.count == 1)
            let toAll = try await Self.span("send navigate", tracer)
            #expect(toAll.parentSpanID == outer.spanID)
            #expect(toAll.attributes["waypost.replies"]?.toSpanAttribute() == .int64(1))
            #expect(toAll.attributes["waypost.agent"]?.toSpanAttribute() == .string("@all"))
            let member = try await Self.span("process navigate", tracer)
            #expect(member.parentSpanID == toAll.spanID)
        }
        // Patterns, names and numbers, and nothing that was sent.
        for span in tracer.base.finishedSpans {
            var texts = [span.operationName]
            span.attributes.forEach { texts += [$0, "\($1)"] }
            texts += span.errors.map { "\($0.error)" } + [span.status?.message ?? ""]
            #expect(!texts.joined().contains("hunter2"), "\(texts)")
        }
        #expect(tracer.base.activeSpans.map(\.operationName) == ["request"])
        try await agent.stop()
    }

    @Test(arguments: [nil, "c-1"])
    func `a command of the machine itself is a tree of its own, or of the trace that it names`(
        id: String?
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let tracer = WireTracer()
        let router = Router()
        try router.register("app://home") { .opened($0.context.trace.map { .string($0) } ?? .null) }
        let agent = try Self.start(broker, router, tracer, state: broker.directory + "/k1")
        let outer = tracer.base.startSpan("click", context: .topLevel)
        let replies = EventLog<[UInt8]>()
        let trace = "00-\(outer.traceID)-\(outer.spanID)-01"
        let named = id.map { "\"id\":\"\($0)\"," } ?? ""
        for url in ["app://home", "app://nothing"] {
            agent.agent.runLocally(
                Array(#"{\#(named)"type":"open","url":"\#(url)","trace":"\#(trace)"}"#.utf8)
            ) { replies.append($0) }
            try await replies.wait(for: "the reply of \(url)") { $0.count == (url == "app://home" ? 1 : 2) }
            if id != nil { break }
        }
        let process = try await Self.span("process open", tracer) { $0.status == nil }
        #expect(process.parentSpanID == outer.spanID)
        #expect(process.attributes["waypost.sender"]?.toSpanAttribute() == .string("local"))
        let reply = try JSONValue(parsing: try #require(replies.events.first))
        #expect(reply["result"]?["value"] == .string("00-\(process.traceID)-\(process.spanID)-01"))
        for phase in ["wait in lane", "store", "open"] {
            _ = try await Self.span(phase, tracer) { $0.parentSpanID == process.spanID }
        }
        // Nothing waits for a broker.
        try await eventually("the end of all") { tracer.base.activeSpans.count == 1 }
        outer.end()
        try await agent.stop()
    }

    @Test func `a second attempt is a new span of the same trace, linked to the first`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let tracer = WireTracer()
        let (begun, release) = (OneShotEvent(), OneShotEvent())
        let runs = Guarded(0)
        let router = Router()
        try router.register("app://print", idempotent: true) { _ in
            let isFirst = runs.withLock { runs in
                runs += 1
                return runs == 1
            }
            guard isFirst else { return .opened() }
            begun.fire()
            await release.wait()
            return .opened()
        }
        let state = broker.directory + "/k1"
        let first = try Self.start(broker, router, tracer, state: state)
        try await Backend.with(try Self.backend(broker, tracer)) { backend in
            let k1 = backend.agent("k1")
            try await eventually("the agent") { (try? await k1.ping()) != nil }
            async let opened = k1.open("app://print", SendOptions(deadline: .seconds(300)))
            await begun.wait()
            // What is on the disk at this moment is what a kill -9 leaves.
            let left = broker.directory + "/killed"
            try await eventually("the command on disk") {
                try? FileManager.default.removeItem(atPath: left)
                try FileManager.default.copyItem(atPath: state, toPath: left)
                return try StateInspection(directory: left).unfinished == 1
            }
            try await first.stop()
            let second = try Self.start(broker, router, tracer, state: left)
            _ = try await opened
            let send = try await Self.span("send open", tracer)
            let before = try await Self.span("process open", tracer) { $0.links.isEmpty }
            let after = try await Self.span("process open", tracer) { !$0.links.isEmpty }
            #expect(before.parentSpanID == send.spanID && after.parentSpanID == send.spanID)
            #expect(after.traceID == send.traceID && after.spanID != before.spanID)
            #expect(after.links.map { $0.context.inMemorySpanContext?.spanID } == [before.spanID])
            release.fire()
            try await second.stop()
        }
    }
}
