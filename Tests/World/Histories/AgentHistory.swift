import Logging
import MQTTLink
import Threading
import Waypost
import WaypostAgent

/// One agent, its broker and a sender: it starts, gets commands over a network that fails now and then, and stops.
package final class AgentHistory: Sendable {
    /// What was not as `Guarantees.md` says.
    package enum Breach: Error, CustomStringConvertible {
        case notStarted(String)
        case noResult([String])
        case twoResults(String)
        case ranTwice(Int)
        case doesNotStop

        package var description: String {
            switch self {
            case .notStarted(let reason): "the agent does not start: \(reason)"
            case .noResult(let ids): "no result came to \(ids)"
            case .twoResults(let id): "two different results came to \(id)"
            case .ranTwice(let number): "what may not be repeated ran twice for command \(number)"
            case .doesNotStop: "the agent does not stop"
            }
        }
    }

    private struct Failed: Error {}

    private let scheduler: SeededScheduler
    private let broker = WorldBroker()
    private let runs = Guarded<[Int]>([])
    private let link = Guarded<WorldLink?>(nil)
    /// How many commands are sent.
    private let commands: Int

    package init(_ scheduler: SeededScheduler, commands: Int = 30) {
        (self.scheduler, self.commands) = (scheduler, commands)
    }

    /// - Parameter directory: the agent's state, in an empty folder.
    package func run(in directory: String) throws {
        broker.start()
        let sender = WorldClient("me", at: broker, ["waypost/v1/k1/reply/me", "waypost/v1/k1/state"])
        let agent = try start(in: directory)
        let ended = Monitor(false)
        Task(executorPreference: AgentThreads.pool) { [scheduler] in
            do { try await agent.run() } catch { scheduler.note("\(error)") }
            ended.withLock { ($0 = true, wakes: true) }
        }
        try awaitBirth(sender)
        let ids = send(to: sender)
        try awaitResults(of: ids, sender)
        agent.stop(because: "the end of the history")
        let limit = MonotonicTime.after(.seconds(60))
        let hasEnded = ended.wait { ended, isTimeUp -> Monitor<Bool>.Step<Bool> in
            ended || isTimeUp ? .end(ended) : .wait(until: limit)
        }
        guard hasEnded else { throw Breach.doesNotStop }
        let counts = Dictionary(grouping: runs.withLock { $0 }) { $0 }
        if let twice = counts.filter({ $0.value.count > 1 }).keys.min() { throw Breach.ranTwice(twice) }
    }

    private func start(in directory: String) throws -> Agent {
        guard let url = try? BrokerURL("mqtt://127.0.0.1:1883") as BrokerURL else {
            throw Breach.notStarted("no URL")
        }
        var configuration = AgentConfiguration(
            agent: "k1", groups: ["fleet"], stateDirectory: directory,
            link: MQTTLinkConfiguration(brokers: [url], clientID: "k1"))
        configuration.limits.handlerDeadline = .seconds(20)
        let router = Router()
        do {
            try register(on: router)
            return try Agent(
                configuration, router: router,
                logger: Logger(label: "world") { _ in SwiftLogNoOpLogHandler() },
                clock: .system,
                makeLink: { [self] configuration, delegate in
                    let link = WorldLink(configuration, delegate, broker, scheduler)
                    self.link.withLock { $0 = link }
                    return link
                })
        } catch {
            throw Breach.notStarted("\(error)")
        }
    }

    private func register(on router: Router) throws {
        try router.register("shop://add/:number") { [self] request in
            ran(request)
            return .opened()
        }
        try router.register("shop://slow/:number") { [self] request in
            var chance = Chance()
            try await MonotonicTime.sleep(for: .milliseconds(Int64.random(in: 0...2_000, using: &chance)))
            ran(request)
            return .opened()
        }
        try router.register("shop://block/:number") { [self] request in
            ran(request)
            CurrentThread.sleep(for: .milliseconds(150))
            return .opened()
        }
        try router.register("shop://many/:number", idempotent: true) { _ in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { await Task.yield() } }
            }
            return .opened()
        }
        try router.register("shop://fail/:number") { [self] request in
            ran(request)
            throw Failed()
        }
    }

    private func ran(_ request: RouteRequest) {
        let number = (try? request.parameters.value("number", as: Int.self)) ?? -1
        scheduler.note("runs \(number)")
        runs.withLock { $0.append(number) }
    }

    /// What is sent before its session is there, no broker keeps for it.
    private func awaitBirth(_ sender: WorldClient) throws {
        let limit = MonotonicTime.after(.seconds(60))
        while let message = sender.next(until: limit) {
            if message.topic.hasSuffix("/state"),
                try JSONValue(parsing: message.payload)["state"]?.stringValue == "online"
            {
                return
            }
        }
        throw Breach.notStarted("it does not come online")
    }

    /// Commands with pauses and repetitions between them; their ids.
    private func send(to sender: WorldClient) -> [String] {
        var chance = Chance()
        var ids: [String] = []
        for number in 0..<commands {
            let kind = ["add", "slow", "block", "many", "fail"].randomElement(using: &chance) ?? "add"
            let lane = ["a", "b", "c"].randomElement(using: &chance) ?? "a"
            let command =
                #"{"id":"c\#(number)","type":"open","url":"shop://\#(kind)/\#(number)","lane":"\#(lane)"}"#
            ids.append("c\(number)")
            // The sender may repeat what it has no answer to.
            for _ in 0..<(Int.random(in: 0..<5, using: &chance) == 0 ? 2 : 1) {
                sender.publish(command, on: "waypost/v1/k1/cmd/me")
            }
            if Int.random(in: 0..<4, using: &chance) == 0 {
                CurrentThread.sleep(for: .milliseconds(Int64.random(in: 0...400, using: &chance)))
            }
            if Int.random(in: 0..<10, using: &chance) == 0 {
                link.withLock { $0 }?.post { $0.commands.append(.cut) }
            }
        }
        return ids
    }

    private func awaitResults(of ids: [String], _ sender: WorldClient) throws {
        let limit = MonotonicTime.after(.seconds(600))
        var results: [String: String] = [:]
        while results.count < ids.count, let message = sender.next(until: limit) {
            guard let reply = try? JSONValue(parsing: message.payload), let id = reply["id"]?.stringValue,
                let status = reply["status"]?.stringValue, status != "accepted"
            else { continue }
            scheduler.note("result of \(id): \(status)")
            if let known = results[id], known != status { throw Breach.twoResults(id) }
            results[id] = status
        }
        let missing = ids.filter { results[$0] == nil }
        guard missing.isEmpty else { throw Breach.noResult(missing) }
    }
}
