import MQTTLink
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// Sends commands and takes the replies, on the link's thread as far as it can: a task for each would measure itself.
final class BenchLoad: MQTTLinkDelegate {
    enum Phase: Sendable {
        case connecting
        case running
        /// Nothing more is sent.
        case ended(DisconnectReason)
        case refused(String)
    }

    struct State {
        var tally = BenchTally()
        var phase = Phase.connecting
        var clock: BenchClock
        var started: ContinuousClock.Instant?
        /// For when the next command is planned.
        var next: ContinuousClock.Instant?
        var news: ContinuousClock.Instant
        var isStopped = false

        init() {
            clock = BenchClock()
            news = clock.now()
        }
    }

    /// The first part of all ids, so that replies to another run do not count.
    private let run = "b\(Identifier.short())-"
    private let settings: Bench
    let replyTopic: String
    private let commandTopic: String
    let state = Guarded(State())
    let publish = Callback<[OutgoingMessage], Void> { _ in }

    init(_ settings: Bench) {
        self.settings = settings
        replyTopic = settings.topics.reply(of: settings.agent, to: settings.sender)
        commandTopic = settings.topics.command(to: .agent(settings.agent), from: settings.sender)
    }

    /// Keeps the rate, and calls `progress` once a second.
    func drive(silence: Duration, _ progress: (BenchTally) -> Void) async throws {
        let begun = MonotonicTime.instant
        var nextProgress = begun + .seconds(1)
        let pause = Duration.milliseconds(settings.pace.rate == nil ? 20 : 1)
        while true {
            try await MonotonicTime.sleep(for: pause)
            switch state.withLock({ $0.phase }) {
            case .connecting:
                guard MonotonicTime.instant - begun < .seconds(10) else {
                    throw Bench.Stop.noBroker("no broker answered within 10 s")
                }
            case .running: pump()
            case .refused(let why): throw Bench.Stop.refused(why)
            case .ended(let reason): throw Bench.Stop.noBroker("no broker: \(reason)")
            }
            if isOver(silentFor: silence) || isStuck(after: silence) { return }
            guard MonotonicTime.instant >= nextProgress else { continue }
            nextProgress = MonotonicTime.instant + .seconds(1)
            progress(state.withLock { $0.tally })
        }
    }

    /// Whether all is sent and either answered, or silent for `limit`.
    private func isOver(silentFor limit: Duration) -> Bool {
        state.withLock { state in
            let now = state.clock.now()
            return isComplete(state, at: now) && (state.tally.open == 0 || now - state.news > limit)
        }
    }

    /// Whether nothing has come for `limit` although something is awaited: the window is full of what is lost.
    private func isStuck(after limit: Duration) -> Bool {
        state.withLock { $0.tally.open > 0 && $0.clock.now() - $0.news > limit }
    }

    private func isComplete(_ state: State, at now: ContinuousClock.Instant) -> Bool {
        if state.isStopped { return true }
        if let count = settings.count, state.tally.sent >= count { return true }
        if let duration = settings.duration, let started = state.started { return now - started >= duration }
        return false
    }

    /// Sends what is due, as far as the window allows.
    private func pump() {
        let numbers = state.withLock { state -> Range<Int> in
            let now = state.clock.now()
            guard case .running = state.phase, !isComplete(state, at: now) else { return 0..<0 }
            state.started = state.started ?? now
            let first = state.tally.sent
            while state.tally.open < settings.pace.inFlight, state.tally.sent < settings.count ?? .max {
                let due = settings.pace.due(state.next ?? now, at: now)
                guard due <= now else { break }
                state.next = settings.pace.next(after: due)
                if state.tally.open == 0 { state.news = now }
                _ = state.tally.sends(due: due)
            }
            return first..<state.tally.sent
        }
        guard !numbers.isEmpty else { return }
        let at = WallClock.now()
        publish(
            numbers.map { number in
                let command = Command(
                    id: "\(run)\(number)", operation: settings.operation, at: at,
                    expires: at + Command.defaultLifetime)
                var message = MQTTMessage.json(
                    commandTopic, command.encoded(), properties: MQTTProperties())
                message.qos = settings.qos
                return OutgoingMessage(token: UInt64(number), message: message)
            })
    }

    // MARK: The link

    func linkDidConnect(_ connection: Connection) {
        let refused = connection.subscriptions.first { !$0.isGranted }
        state.withLock { state in
            state.news = state.clock.now()
            state.phase =
                if let refused {
                    .refused("the subscription to \(replyTopic) was \(refused.answer)")
                } else {
                    .running
                }
        }
        pump()
    }

    func link(received batch: [MQTTMessage]) -> BatchDecision {
        let replies = batch.compactMap { message -> (Int, Reply)? in
            guard message.topic == replyTopic, let json = message.json, let reply = try? Reply(json),
                reply.status != .accepted, reply.id.hasPrefix(run),
                let number = Int(reply.id.dropFirst(run.count))
            else { return nil }
            return (number, reply)
        }
        state.withLock { state in
            let now = state.clock.now()
            for (number, reply) in replies { state.tally.replied(number, reply, at: now) }
            if !replies.isEmpty { state.news = now }
        }
        pump()
        return .acknowledge
    }

    func link(settled receipts: [PublishReceipt]) {
        let refused = receipts.compactMap { receipt -> (Int, String)? in
            switch receipt.result {
            case .acknowledged, .lost: nil
            case .refused(let code): (Int(clamping: receipt.token), "refused by the broker: \(code)")
            case .rejected(let reason): (Int(clamping: receipt.token), "not sent: \(reason)")
            }
        }
        guard !refused.isEmpty else { return }
        state.withLock { state in for (number, why) in refused { state.tally.refused(number, why) } }
    }

    func linkDidDisconnect(_ reason: DisconnectReason) {
        state.withLock { $0.phase = .ended(reason) }
    }
}

/// The time of a run, which stands still while this process does not run: a suspended machine, or Ctrl-Z.
///
/// It is asked every few milliseconds. Where far more passed in between, nothing was sent and no reply could be read
/// here: that is neither a latency nor a silence of the agent.
struct BenchClock: Sendable {
    /// As far as it goes between two questions: a process that waits for a busy machine gets its turn sooner.
    private static let longestStep = Duration.seconds(1)

    private var last = MonotonicTime.instant
    /// How long it stood still.
    private(set) var stoodStill = Duration.zero

    /// The time now; only differences of such times say something.
    mutating func now() -> ContinuousClock.Instant {
        let now = MonotonicTime.instant
        let step = now - last
        if step > Self.longestStep { stoodStill += step - Self.longestStep }
        last = now
        return now - stoodStill
    }
}
