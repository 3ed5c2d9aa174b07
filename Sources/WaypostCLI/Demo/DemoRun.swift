import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// Plays the story and compares what comes with what must come.
struct DemoRun {
    let backend: DemoBackend
    let broker: PrivateBroker
    let processes: ProcessGroupGuard
    let output: DemoOutput
    /// How long to rest after each step.
    let pause: Duration

    private(set) var agent: DemoAgent
    private(set) var tally = DemoTally()

    init(
        backend: DemoBackend, broker: PrivateBroker, agent: DemoAgent, processes: ProcessGroupGuard,
        output: DemoOutput,
        pause: Duration
    ) {
        self.backend = backend
        self.broker = broker
        self.agent = agent
        self.processes = processes
        self.output = output
        self.pause = pause
    }

    mutating func play(_ chapters: [DemoStory.Chapter]) async throws {
        for (index, chapter) in chapters.enumerated() {
            output.title("\(index + 1). \(chapter.title)")
            for step in chapter.steps {
                output.step(step.caption)
                let unexpected = try await play(step)
                output.ended(step, unexpected: unexpected)
                if unexpected != nil { tally.unexpected += 1 }
                if pause > .zero { try await MonotonicTime.sleep(for: pause) }
            }
        }
        tally.statuses = Dictionary(grouping: backend.seen.replies.values, by: \.status).mapValues(\.count)
        tally.events = backend.seen.events
        tally.failures = backend.seen.failures.count
    }

    /// Does one step; returns what was not as expected.
    private mutating func play(_ step: DemoStep) async throws -> String? {
        let now = WallClock.now()
        switch step.action {
        case .command(let operation):
            return try await send(Command.demo(operation, at: now, lifetime: 60_000), step)
        case .late(let operation):
            return try await send(Command.demo(operation, at: now - 20_000, lifetime: 10_000), step)
        case .raw(let text):
            tally.commands += 1
            let (failures, events) = (backend.seen.failures.count, backend.seen.events)
            try await backend.send(Array(text.utf8))
            let unexpected = try await failure(step.expectation, after: failures)
            try await logLines { $0.events > events }
            return unexpected
        case .patch(let entries):
            return try await relocate(
                Relocation(document: MapDocument.patch(id: Identifier.ulid(), entries: entries), .patch), step
            )
        case .map(let revision, let entries):
            return try await relocate(
                Relocation(
                    document: MapDocument.map(id: Identifier.ulid(), revision: revision, entries: entries),
                    .map),
                step)
        case .stopAgent:
            let status = await agent.stop()
            guard try await backend.listen(until: { !$0.isOnline }) else {
                return "the agent did not report that it stops"
            }
            return status == 0 ? nil : "the agent ended with status \(status): \(agent.lastLogLines)"
        case .commandWhileAway(let operation):
            let command = Command.demo(operation, at: now, lifetime: 60_000)
            try await backend.send(command)
            agent = try DemoAgent.start(broker, in: processes)
            return try await reply(to: command, step)
        }
    }

    private mutating func send(_ command: Command, _ step: DemoStep) async throws -> String? {
        try await backend.send(command)
        return try await reply(to: command, step)
    }

    private mutating func reply(to command: Command, _ step: DemoStep) async throws -> String? {
        tally.commands += 1
        guard case .reply(let code, let value) = step.expectation else { return "the demo expects no reply" }
        guard try await backend.listen(until: { $0.replies[command.id] != nil }),
            let reply = backend.seen.replies[command.id]
        else { return "no reply; the agent's last lines: \(agent.lastLogLines)" }
        try await logLines { $0.refs.contains(command.id) }
        guard reply.code == code else {
            return "expected \(code), found \(reply.code)"
        }
        let found = reply.result["value"]?["screen"] ?? reply.result
        guard let value, found != value else { return nil }
        return "expected \(value), found \(found)"
    }

    /// Waits a moment for what the log says: it follows at its own pace, and the lines of a step belong together.
    private func logLines(_ areThere: (DemoBackend.Seen) -> Bool) async throws {
        _ = try await backend.listen(within: .milliseconds(800), until: areThere)
    }

    private func failure(_ expectation: DemoStep.Expectation, after before: Int) async throws -> String? {
        guard case .failure(let code) = expectation else { return "the demo expects no failure" }
        let isThere = try await backend.listen { $0.failures.dropFirst(before).contains { $0.code == code } }
        return isThere ? nil : "no failure report with \(code)"
    }

    private mutating func relocate(_ relocation: Relocation, _ step: DemoStep) async throws -> String? {
        tally.documents += 1
        let events = backend.seen.mapEvents
        try await backend.send(relocation)
        guard try await backend.listen(until: { $0.result != nil }), let result = backend.seen.result
        else {
            return "no message on map/applied; the agent's last lines: \(agent.lastLogLines)"
        }
        if result.refused != nil { tally.refused += 1 }
        try await logLines { $0.mapEvents > events }
        switch step.expectation {
        case .applied:
            return result.refused.map { "refused with \($0.code.number) \($0.code.name)" }
        case .mapRefused(let code):
            return result.refused?.code == code ? nil : "expected that it is refused with \(code)"
        case .reply, .failure, .offline:
            return "the demo expects nothing of a map"
        }
    }
}

extension Command {
    fileprivate static func demo(_ operation: Operation, at now: Int64, lifetime: Int64) -> Command {
        Command(id: Identifier.ulid(), operation: operation, at: now, expires: now + lifetime)
    }
}
