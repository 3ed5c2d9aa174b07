import Logging
import MQTTLink
import Threading
import Waypost
import WaypostAgent

/// One agent, its broker and who sends it commands, over a network that fails now and then: from a start to a stop, or to
/// wherever its machine comes to its end.
final class AgentHistory: Sendable {
    /// What the agent did not do at all.
    enum Breach: Error, CustomStringConvertible {
        case notStarted(String)
        case notOnline
        case noResult([String])
        case doesNotStop

        var description: String {
            switch self {
            case .notStarted(let reason): "law 14: the agent does not start: \(reason)"
            case .notOnline: "law 8: it does not come online"
            case .noResult(let ids): "laws 1 and 3: no result came to \(ids)"
            case .doesNotStop: "law 8: the agent does not stop"
            }
        }
    }

    private struct Failed: Error {}

    private let scheduler: SeededScheduler
    private let broker: WorldBroker
    private let disk: WorldDisk
    private let people: Guarded<People>
    /// A law that a handler saw broken.
    private let breach = Guarded<People.Breach?>(nil)
    private let link = Guarded<WorldLink?>(nil)

    init(_ scheduler: SeededScheduler, _ disk: WorldDisk, _ people: People, _ kept: BrokerModel.Kept) {
        self.scheduler = scheduler
        self.disk = disk
        self.people = Guarded(people)
        broker = WorldBroker(kept)
    }

    /// What outlives it, for who comes after the end.
    var rest: (people: People, broker: BrokerModel.Kept) { (people.withLock { $0 }, broker.kept) }

    /// - Parameters:
    ///   - directory: the agent's state.
    ///   - durability: the guarantees are given with ``Durability/full``.
    ///   - commands: how many are sent.
    ///   - isLast: whether all must come to rest.
    func run(in directory: String, _ durability: Durability, commands: Int, isLast: Bool) throws {
        broker.start()
        let sender = WorldClient("me", at: broker, ["waypost/v1/k1/reply/me", "waypost/v1/k1/state"])
        let agent = try start(in: directory, durability)
        let ended = Monitor(false)
        Task(executorPreference: AgentThreads.pool) { [scheduler] in
            do { try await agent.run() } catch { scheduler.note("\(error)") }
            ended.withLock { ($0 = true, wakes: true) }
        }
        // What is sent before its session is there, no broker keeps for it.
        try take(from: sender, for: .seconds(60)) { $0.isOnline }
        guard people.withLock(\.isOnline) else { throw Breach.notOnline }
        sendAgain(to: sender)
        try send(commands, to: sender)
        heal()
        if isLast {
            for _ in 0..<90 where !people.withLock(\.open.isEmpty) {
                try take(from: sender, for: .seconds(10)) { $0.open.isEmpty }
                sendAgain(to: sender)
            }
            let open = people.withLock(\.open)
            guard open.isEmpty else { throw Breach.noResult(open) }
        } else {
            try take(from: sender, for: .milliseconds(drawn(0...3_000))) { _ in false }
        }
        agent.stop(because: "the end of the history")
        let limit = MonotonicTime.after(.seconds(60))
        let hasEnded = ended.wait { ended, isTimeUp -> Monitor<Bool>.Step<Bool> in
            ended || isTimeUp ? .end(ended) : .wait(until: limit)
        }
        guard hasEnded else { throw Breach.doesNotStop }
        if let breach = breach.withLock({ $0 }) { throw breach }
    }

    private static let topic = "waypost/v1/k1/cmd/me"

    private func drawn(_ range: ClosedRange<Int64>) -> Int64 {
        var chance = Chance()
        return Int64.random(in: range, using: &chance)
    }

    // MARK: The agent

    private func start(in directory: String, _ durability: Durability) throws -> Agent {
        guard let url = try? BrokerURL("mqtt://127.0.0.1:1883") as BrokerURL else {
            throw Breach.notStarted("no URL")
        }
        var configuration = AgentConfiguration(
            agent: "k1", groups: ["fleet"], stateDirectory: directory,
            link: MQTTLinkConfiguration(brokers: [url], clientID: "k1"))
        configuration.durability = durability
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
            ran(request)
            try await MonotonicTime.sleep(for: .milliseconds(drawn(0...2_000)))
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
        do {
            try people.withLock { people throws(People.Breach) in try people.runs(number) }
        } catch {
            breach.withLock { $0 = error }
        }
    }

    // MARK: Who sends

    /// What the broker does not have, or the agent has not accepted.
    private func sendAgain(to sender: WorldClient) {
        for (id, payload) in people.withLock(\.unsent) { sender.publish(payload, on: Self.topic, as: id) }
    }

    /// The disk takes nothing for a while, the network fails.
    private func trouble() {
        switch drawn(0...29) {
        case 0...2: link.withLock { $0 }?.post { $0.commands.append(.cut) }
        case 3: disk.failSyncs(true)
        case 4: disk.limit(Int(drawn(4_096...400_000)))
        case 5...12: heal()
        default: break
        }
    }

    private func heal() {
        disk.failSyncs(false)
        disk.limit(nil)
    }

    /// Commands with pauses and repetitions between them.
    private func send(_ count: Int, to sender: WorldClient) throws {
        let first = people.withLock(\.commands.count)
        for number in first..<(first + count) {
            let kind = ["add", "slow", "block", "many", "fail"][Int(drawn(0...4))]
            let lane = ["a", "b", "c"][Int(drawn(0...2))]
            let id = "c\(number)"
            let payload =
                #"{"id":"\#(id)","type":"open","url":"shop://\#(kind)/\#(number)","lane":"\#(lane)","exp":\#(Self.expiry)}"#
            people.withLock { $0.sends(id, People.Sent(number: number, payload: payload)) }
            // Who sends may repeat what has no answer.
            for _ in 0...(drawn(0...4) == 0 ? 1 : 0) { sender.publish(payload, on: Self.topic, as: id) }
            if drawn(0...3) == 0 { try take(from: sender, for: .milliseconds(drawn(0...400))) { _ in false } }
            trouble()
        }
    }

    /// Later than any history.
    private static let expiry: Int64 = 2_000_080_000_000

    private func take(
        from sender: WorldClient, for time: Duration, unless isEnough: (People) -> Bool
    ) throws {
        try sender.take(
            until: MonotonicTime.after(time), unless: { people.withLock { isEnough($0) } },
            message: { message in try people.withLock { try $0.heard(message) } },
            acknowledged: { id in people.withLock { $0.brokerHas(id) } })
    }
}
