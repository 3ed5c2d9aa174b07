import Foundation
import Logging
import MQTTLink
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing
import Waypost
import WaypostBackend

/// What stands in the documentation, compiled, and run against a real broker and the demo's agent.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct `Snippets on backends` {
    typealias Backend = WaypostBackend.Backend
    private let logger = Logger(label: "shop")

    // snippet
    func makeBackend(broker: String) throws -> Backend {
        var configuration = try BackendConfiguration(broker: broker, name: "shop")
        configuration.credentials = Credentials(username: "shop", password: "secret")
        return Backend(configuration)
    }

    func run(_ backend: Backend, beside server: any Service, logger: Logger) async throws {
        try await ServiceGroup(services: [backend, server], logger: logger).run()
    }
    // end snippet

    // snippet
    func openOrder(_ id: Int, on agent: String, _ configuration: BackendConfiguration) async throws {
        try await Backend.with(configuration) { backend in
            _ = try await backend.agent(agent).open("scheme://router/demo?id=\(id)")
        }
    }
    // end snippet

    // snippet
    func tour(_ agent: AgentClient) async throws -> Int {
        let opened = try await agent.open("scheme://router/demo", parameters: ["id": 2])
        guard opened.route != nil else { return 0 }
        return try await agent.call("CalculatorService", "add", [2, 40], as: Int.self)
    }
    // end snippet

    // snippet
    func report(_ error: BackendError, of agent: AgentClient) async throws -> String {
        switch error.kind {
        case .refused: return "refused with \(error.code?.name ?? "?"): \(error.nearest)"
        case .noReply:
            guard let id = error.id, let known = try await agent.inspect(id) else { return "never received" }
            return known.state == .running ? "still running, attempt \(known.attempt)" : "\(known.state)"
        case .invalid, .notSent, .unknownReceiver, .denied, .unreadable, .noBroker: return error.description
        }
    }
    // end snippet

    // snippet
    func sleep(_ agent: AgentClient) async throws -> (accepted: Bool, reply: CommandReply) {
        let command = try agent.send(
            .call("ClockService", "sleep", [1_000]), SendOptions(deadline: .seconds(60)))
        return (try await command.accepted(), try await command.reply())
    }
    // end snippet

    // snippet
    func tonight(_ agent: AgentClient, after time: Int64) async throws -> (begins: Int64?, waiting: Int) {
        let command = try agent.send(
            .call("LedgerService", "append", ["tonight"]),
            SendOptions(id: "tonight", lifetime: .seconds(43_200), after: time, window: "00:00-24:00"))
        guard try await command.accepted() else { return (nil, 0) }
        return (command.begins, try await agent.pending().commands.count)
    }
    // end snippet

    // snippet
    func mistakes(_ agent: AgentClient) async throws -> [String] {
        let contract = try await agent.contract()
        return ["add", "sub"].compactMap { method in
            contract.check(.call("CalculatorService", method, [1, 2]))?.description
        }
    }
    // end snippet

    // snippet
    func deliver(_ command: SealedCommand, _ store: SealedCommandStore, _ backend: Backend) async throws {
        let reply = try await backend.send(command, keptIn: store)
        logger.info("\(command.id): \(reply.code)")
    }

    func deliverAgain(_ store: SealedCommandStore, _ backend: Backend) async throws {
        for command in try store.commands() { try await deliver(command, store, backend) }
    }
    // end snippet

    // snippet
    func welcome(_ backend: Backend) async throws -> (opened: [String], silent: [String]) {
        let answer = try await backend.group("all").send(.open("scheme://router/demo?id=1"))
        return (answer.replies.filter(\.isOK).map(\.agent), answer.silent.map(\.name))
    }
    // end snippet

    // snippet
    func followAgents(_ backend: Backend) async throws {
        for try await agent in backend.agentChanges() where agent.condition != .healthy {
            logger.warning("\(agent.name): \(agent.problem)")
        }
    }

    func followLog(_ backend: Backend) async throws -> AgentEvent? {
        let log = try backend.log(of: "k1", "level:W -tag:Link", buffer: 100)
        for try await event in log where log.dropped == 0 { return event }
        return nil
    }

    func followFailures(_ backend: Backend) async throws -> AgentFailure? {
        for try await failure in backend.failures() where failure.code == .noRoute { return failure }
        return nil
    }
    // end snippet

    // snippet
    func lastHour(
        of group: String, _ backend: Backend, _ line: @escaping @Sendable (AgentEvent) -> Void
    ) async throws {
        var request = LogRequest()
        request.agents = AgentSelection(group: group)
        request.filter = try LogFilter(["Link:W", "*:I"], query: "-message:demo")
        request.past = LogRequest.Past(start: .ago(.seconds(3_600)))
        request.endsWithPast = true
        try await backend.followLog(request) { [logger] entry in
            switch entry {
            case .line(let event): line(event)
            case .notice(let text): logger.notice("\(text)")
            }
            return true
        }
    }
    // end snippet

    // snippet
    func worst(_ backend: Backend) async throws -> [FailureGroup] {
        let groups = Mutex(FailureGroups())
        let gaps = try await backend.keptFailures(since: .ago(.seconds(3_600)), "-code:404") { failure in
            groups.withLock { $0.add(failure) }
        }
        if let silence = gaps.silence { logger.warning("\(silence)") }
        return groups.withLock(\.sorted)
    }
    // end snippet

    // snippet
    func stale(_ name: String, _ backend: Backend) async throws -> [String] {
        let agent = backend.agent(name)
        let kept = try await agent.retained()
        for document in kept.documents { logger.info("\(document.topic): \(document.summary)") }
        var health: AgentHealth?
        do {
            health = try await agent.ping()
        } catch let error as BackendError where [.noReply, .unknownReceiver].contains(error.kind) {
            // It does not answer, which is what is asked.
        }
        return kept.differences(from: health)
    }
    // end snippet

    // snippet
    func forget(_ name: String, _ backend: Backend) async throws -> [String] {
        let retired = try await backend.agent(name).retired()
        logger.notice("removes \(retired.topics)")
        return try await retired.remove()
    }
    // end snippet

    // snippet
    func keep(_ file: URL, for group: String, _ backend: Backend) async throws {
        let map = try WantedMap(
            file: Array(Data(contentsOf: file)), for: "@\(group)", name: file.lastPathComponent)
        for try await news in backend.keep([map]) { logger.notice("\(news)") }
    }
    // end snippet

    // snippet
    func look(_ backend: Backend) async throws -> (agents: Int, failures: Int, events: Int) {
        let agent = backend.agent("k1")
        let recent = try await agent.replay("level:I", last: 20)
        return (try await backend.agents().count, try await agent.failures().count, recent.count)
    }
    // end snippet

    // snippet
    func plan(_ map: Relocation, for lobby: GroupClient) async throws -> [String] {
        let older = try RolloutPlan.Selection(labels: ["region": "eu"], app: "<2.5")
        let plan = try await lobby.planRollout(map, id: "r-7", only: older)
        let silent = plan.only?.silent ?? []
        return plan.stages.map { "\($0.name): \($0.agents)" } + silent.map { "\($0) does not say" }
    }
    // end snippet

    // snippet
    func rollOut(_ map: Relocation, to lobby: GroupClient, _ options: RolloutOptions) async throws -> String {
        let plan = try await lobby.planRollout(map, id: "r-7", options)
        guard plan.isClear else { return "not begun: \(plan.faults)" }
        let outcome = try await lobby.rollOut(plan, because: "the new shop") { status in
            logger.info("\(status.onNext) of \(status.online) agents have it")
        }
        switch outcome {
        case .done: return "in force everywhere"
        case .takenBack(let why): return "taken back: \(why)"
        case .paused(let why): return "to be decided: \(why)"
        case .superseded(let controller): return "\(controller) steers it now"
        }
    }
    // end snippet

    /// An agent with the demo's routes and services at a broker of its own.
    private func withAgent(_ body: (Backend, AgentClient, BackendConfiguration) async throws -> Void)
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try AgentProcess("k1", broker: broker.url)
        try await agent.online()
        let configuration = try BackendConfiguration(broker: broker.url, name: "shop")
        try await Backend.with(configuration) { backend in
            try await body(backend, backend.agent("k1"), configuration)
        }
        _ = try await agent.terminate()
    }

    @Test func `commands return what they did`() async throws {
        try await withAgent { backend, agent, configuration in
            #expect(try await tour(agent) == 42)
            let time = Int64(Date().timeIntervalSince1970 * 1_000) + 3_600_000
            let later = try await tonight(agent, after: time)
            #expect(later.begins == time && later.waiting == 1)
            try await agent.cancel("tonight")
            let slow = try await sleep(agent)
            #expect(slow.accepted && slow.reply.isOK)
            #expect(try await mistakes(agent).count == 1)
            let group = try await welcome(backend)
            #expect(group == (["k1"], []))
            try await openOrder(7, on: "k1", configuration)
        }
    }

    @Test func `which events an agent publishes is changed for a time`() async throws {
        try await withAgent { backend, agent, _ in
            try await agent.setLogLevel(.verbose, tag: "Router", for: .seconds(300))
            let events = try backend.log(of: "k1", "tag:Router level:V")
            // Until the reader is there.
            let opening = Task {
                while !Task.isCancelled { _ = try? await agent.open("scheme://router/demo") }
            }
            try await patiently("an event of that level") {
                for try await event in events where event.level == .verbose { return }
            }
            opening.cancel()
        }
    }

    @Test func `an error says what happened`() async throws {
        try await withAgent { _, agent, _ in
            let refusal = await #expect(throws: BackendError.self) {
                try await agent.open("scheme://router/demu")
            }
            let refused = try #require(refusal)
            #expect(refused.kind == .refused && refused.code == .noRoute)
            #expect(try await report(refused, of: agent).hasPrefix("refused with NO_ROUTE"))
            let silence = await #expect(throws: BackendError.self) {
                try await agent.call(
                    "ClockService", "sleep", [9_000], SendOptions(deadline: .seconds(2)))
            }
            let late = try #require(silence)
            #expect(late.kind == .noReply)
            #expect(try await report(late, of: agent) == "still running, attempt 1")
        }
    }

    @Test func `a sealed command is delivered, and its file is gone`() async throws {
        try await withAgent { backend, agent, _ in
            let folder = NSTemporaryDirectory() + UUID().uuidString
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let store = try SealedCommandStore(folder: folder)
            let command = try agent.seal(.call("CalculatorService", "add", [1, 2]))
            try await deliver(command, store, backend)
            #expect(try store.commands().isEmpty)
            try store.insert(command)
            try await deliverAgain(store, backend)
            #expect(try store.commands().isEmpty)
            let again = try await backend.send(command).reply()
            #expect(again.isRepeated && again.result == 3)
        }
    }

    // Both waited in one queue, which has one reader: the first one waited for ever.
    @Test(.timeLimit(.minutes(60)))
    func `a command that is sent several times at once runs once, and each sender gets its reply`()
        async throws
    {
        try await withAgent { backend, agent, _ in
            let command = try agent.seal(.call("ClockService", "sleep", [1_000]))
            let senders = (0..<5).map { _ in backend.send(command, deadline: .seconds(60)) }
            for sender in senders { #expect(try await sender.reply().isOK) }
            let timeline = try #require(try await agent.inspect(command.id))
            #expect(timeline.attempt == 1)
        }
    }

    @Test(.timeLimit(.minutes(60))) func `a slow reader loses the oldest, and knows how many`() async throws {
        try await withAgent { backend, agent, _ in
            let failures = backend.failures(buffer: 2)
            // Each is a command of its own, and so a report of its own.
            while failures.dropped < 3 { _ = try? await agent.open("scheme://router/nothing") }
            var reader = failures.makeAsyncIterator()
            let failure = try await reader.next()
            #expect(failure?.code == .noRoute)
        }
    }

    @Test func `what agents do comes as sequences`() async throws {
        try await withAgent { backend, agent, _ in
            async let failure = followFailures(backend)
            async let event = followLog(backend)
            // Until both listen: each failure is reported once in ten seconds for one command.
            let opening = Task {
                while !Task.isCancelled { _ = try? await agent.open("scheme://router/nothing") }
            }
            #expect(try await failure?.agent == "k1")
            #expect(try await event?.agent == "k1")
            opening.cancel()
            let found = try await look(backend)
            #expect(found.agents == 1 && found.failures > 0 && found.events > 0)
            var states = backend.agentChanges().makeAsyncIterator()
            #expect(try await states.next()?.name == "k1")
        }
    }

    @Test func `the log of the past hour comes to its end`() async throws {
        try await withAgent { backend, agent, _ in
            try await agent.setLogLevel(.verbose, tag: "Router", for: .seconds(300))
            _ = try? await agent.open("scheme://router/nothing")
            let lines = EventLog<AgentEvent>()
            try await lastHour(of: "all", backend) { lines.append($0) }
            #expect(lines.events.contains { $0.agent == "k1" && $0.code == .noRoute })
            #expect(lines.events.allSatisfy { $0.level >= .info })
            #expect(throws: BackendError.self) { try AgentSelection.matching("(") }
            _ = try? await agent.call("CalculatorService", "add", ["x"])
            let worst = try await worst(backend)
            #expect(worst.map(\.agents) == [["k1"]] && worst.first?.count == 1, "\(worst)")
            let two = await #expect(throws: BackendError.self) {
                try await backend.keptFailures(of: AgentSelection(names: ["k1", "k2"])) { _ in }
            }
            #expect(two?.kind == .invalid)
        }
    }

    @Test func `a map is kept in force, and a newer one is left alone`() async throws {
        try await withAgent { backend, agent, _ in
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).json")
            defer { try? FileManager.default.removeItem(at: file) }
            try Data(#"{"type":"map","rev":7,"entries":[]}"#.utf8).write(to: file)
            let keeping = Task { try await keep(file, for: "all", backend) }
            try await patiently("the map") {
                while try await agent.maps().layer("@all")?.revision != 7 {}
            }
            keeping.cancel()
            try await keeping.value
            let newer = try Relocation.map([], revision: 8, by: "eva")
            _ = try await backend.group("all").relocate(newer)
            let old = try WantedMap(file: Array(Data(contentsOf: file)), for: "@all", name: "old.json")
            try await patiently("what is said of the newer one") {
                for try await news in backend.keep([old])
                where news == .overtaken("@all", revision: 8, wanted: 7) { return }
            }
            #expect(try await agent.maps().layer("@all")?.revision == 8)
        }
    }

    @Test func `what the broker keeps of an agent is what the agent says, and differs once it is gone`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try AgentProcess("k1", broker: broker.url)
        try await agent.online()
        try await Backend.with(BackendConfiguration(broker: broker.url, name: "shop")) { backend in
            try await eventually("all documents") {
                try await backend.agent("k1").retained().documents.count >= 5
            }
            #expect(try await stale("k1", backend).isEmpty)
            _ = try await agent.terminate()
            #expect(try await stale("k1", backend).isEmpty)
            let kept = try await backend.agent("k1").retained()
            #expect(kept.agent == "k1" && kept.documents.first?.payload.isEmpty == false)
            #expect(try await stale("k2", backend).count == 1)
        }
    }

    @Test func `what a retired agent left is looked at, and removed`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try AgentProcess("k1", broker: broker.url)
        try await agent.online()
        try await Backend.with(BackendConfiguration(broker: broker.url, name: "shop")) { backend in
            let isThere = await #expect(throws: BackendError.self) { try await forget("k1", backend) }
            #expect(isThere?.kind == .notSent)
            _ = try await agent.terminate()
            #expect(try await forget("k1", backend).isEmpty)
            let isGone = await #expect(throws: BackendError.self) { try await forget("k1", backend) }
            #expect(isGone?.kind == .unknownReceiver)
        }
    }

    @Test func `a map goes to a group in stages`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try AgentProcess("k1", broker: broker.url, arguments: ["--demo", "--group", "lobby"])
        try await agent.online()
        var options = RolloutOptions()
        try options.setStages(["100%"])
        (options.dwells, options.tail, options.allowsNoTraffic) = ([.milliseconds(1)], .zero, true)
        try await Backend.with(BackendConfiguration(broker: broker.url, name: "shop")) { backend in
            let lobby = backend.group("lobby")
            let demo = RelocationEntry(
                .replace(origin: "scheme://router/demo", target: "scheme://router/orders"))
            let map = try Relocation.map([demo], revision: 7, by: "eva")
            #expect(try await plan(map, for: lobby).contains("k1 does not say"))
            #expect(try await rollOut(map, to: lobby, options) == "in force everywhere")
            let again = try await rollOut(map, to: lobby, options)
            #expect(again.hasPrefix("not begun: ") && again.contains("rev above 7"), "\(again)")
        }
        _ = try await agent.terminate()
    }

    @Test func `a backend is a service`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = Backend(try BackendConfiguration(broker: broker.url, name: "shop"))
        let group = ServiceGroup(
            configuration: .init(services: [.init(service: backend)], logger: logger))
        let running = Task { try await group.run() }
        try await backend.waitUntilConnected()
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(!backend.isConnected)
    }
}
