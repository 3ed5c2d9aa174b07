import TestSupport
import Testing

@testable import MQTTLink

struct LinkStateTests {
    private let one = BrokerURL(host: "one", port: 1883)
    private let two = BrokerURL(host: "two", port: 1883)

    private func state(
        _ brokers: [BrokerURL], seed: UInt64 = 1, _ change: (inout LinkState.Settings) -> Void = { _ in }
    ) -> LinkState {
        var settings = LinkState.Settings(brokers: brokers)
        change(&settings)
        return LinkState(settings, random: SeededGenerator(seed: seed))
    }

    private func attempt(_ actions: [LinkState.Action]) -> LinkState.Attempt? {
        for case .connect(let attempt) in actions { return attempt }
        return nil
    }

    private func report(_ actions: [LinkState.Action]) -> DisconnectReason? {
        for case .report(let reason) in actions { return reason }
        return nil
    }

    /// Lets the time pass until the next attempt, and returns it with the delay.
    private func next(
        _ state: inout LinkState, _ clock: inout ManualClock
    ) throws -> (attempt: LinkState.Attempt, delay: Duration) {
        let deadline = try #require(state.deadline)
        let delay = clock.now.duration(to: deadline)
        clock.turn(delay)
        let actions = state.timePassed(at: clock.now)
        return (try #require(attempt(actions)), delay)
    }

    private func goOnline(_ state: inout LinkState, _ clock: ManualClock) {
        _ = state.accepted(sessionPresent: true, at: clock.now)
        _ = state.subscribed(at: clock.now)
    }

    @Test func `what an earlier link has learned of a broker holds for the rest of its day`() throws {
        var clock = ManualClock()
        let known = VersionMemory(left: .seconds(3_600), wasSilent: true)
        var state = state([one]) { $0.speaks311 = [0: known] }
        #expect(attempt(state.started(at: clock.now))?.version == .v311)
        #expect(state.wasSilentOn5 && state.speaks311(at: clock.now) == known)
        goOnline(&state, clock)
        clock.turn(.seconds(3_601))
        _ = state.ended(.closedByBroker, at: clock.now)
        #expect(try next(&state, &clock).attempt.version == .v5)
        // Nothing that is longer than it may be remembered.
        var other = self.state([one]) {
            $0.speaks311 = [0: VersionMemory(left: .seconds(1_000_000), wasSilent: false)]
        }
        _ = other.started(at: clock.now)
        #expect(other.speaks311(at: clock.now)?.left == .seconds(86_400))
    }

    @Test func `a broker that does not take 3-1-1 any more is asked for 5 again`() throws {
        var clock = ManualClock()
        let known = VersionMemory(left: .seconds(3_600), wasSilent: false)
        var state = state([one]) { $0.speaks311 = [0: known] }
        #expect(attempt(state.started(at: clock.now))?.version == .v311)
        state.stage = .handshaking
        _ = state.ended(.refused(.unsupportedProtocolVersion, detail: nil), at: clock.now)
        #expect(try next(&state, &clock).attempt.version == .v5)
    }

    @Test func `it connects, subscribes, and only then announces`() {
        var (state, clock) = (state([one]), ManualClock())
        let first = state.started(at: clock.now)
        #expect(attempt(first)?.version == .v5)
        #expect(state.accepted(at: clock.now) == [.subscribe])
        #expect(!state.isOnline)
        clock.turn(.seconds(1))
        #expect(state.subscribed(at: clock.now) == [.announce])
        #expect(state.isOnline)
        #expect(state.deadline == nil)
    }

    @Test func `an attempt that is not answered ends at its deadline, and not before`() {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        clock.turn(.seconds(9))
        #expect(state.timePassed(at: clock.now).isEmpty)
        clock.turn(.seconds(1))
        let actions = state.timePassed(at: clock.now)
        #expect(actions.first == .close)
        #expect(report(actions)?.cause == .timedOut)
    }

    @Test func `subscriptions that are not answered end the connection`() {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        _ = state.accepted(at: clock.now)
        clock.turn(.seconds(10))
        let reason = report(state.timePassed(at: clock.now))
        #expect(reason?.cause == .timedOut)
        #expect(reason?.stage == .subscribing)
    }

    @Test func `what a broker sends before its answer to the subscriptions takes its time, but not for ever`()
    {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        _ = state.accepted(at: clock.now)
        // Ten minutes of messages, each batch 9 s after the one before.
        var batches = 0
        while state.timePassed(at: clock.now).isEmpty, batches < 1_000 {
            state.messagesTaken(at: clock.now)
            batches += 1
            clock.turn(.seconds(9))
        }
        #expect(batches == 67)
        // And 10 s of silence are too long, whatever came before.
        (state, clock) = (self.state([one]), ManualClock())
        _ = state.started(at: clock.now)
        _ = state.accepted(at: clock.now)
        clock.turn(.seconds(9))
        state.messagesTaken(at: clock.now)
        clock.turn(.seconds(9))
        #expect(state.timePassed(at: clock.now).isEmpty)
        clock.turn(.seconds(1))
        #expect(report(state.timePassed(at: clock.now))?.cause == .timedOut)
    }

    @Test(arguments: [UInt64(1), 2, 3, 4, 5])
    func `delays are random below an upper end that doubles to a minute`(seed: UInt64) throws {
        var (state, clock) = (state([one], seed: seed), ManualClock())
        _ = state.started(at: clock.now)
        var ceiling = Duration.milliseconds(500)
        for round in 0..<12 {
            _ = state.ended(.network(code: 111, text: "refused"), at: clock.now)
            let (_, delay) = try next(&state, &clock)
            #expect(delay >= .zero && delay <= ceiling, "seed \(seed), round \(round)")
            ceiling = min(ceiling * 2, .seconds(60))
        }
        #expect(ceiling == .seconds(60))
    }

    @Test func `full jitter spreads a thousand links over the whole delay`() throws {
        var below = 0
        for seed in 0..<1_000 as Range<UInt64> {
            var (state, clock) = (state([one], seed: seed), ManualClock())
            _ = state.started(at: clock.now)
            for _ in 0..<9 {
                _ = state.ended(.closedByBroker, at: clock.now)
                _ = try next(&state, &clock)
            }
            _ = state.ended(.closedByBroker, at: clock.now)
            let delay = try next(&state, &clock).delay
            if delay < .seconds(30) { below += 1 }
        }
        #expect((400...600).contains(below))
    }

    @Test func `a stable connection sets the delay back, a short one does not`() throws {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        for _ in 0..<10 {
            _ = state.ended(.closedByBroker, at: clock.now)
            _ = try next(&state, &clock)
        }
        goOnline(&state, clock)
        clock.turn(.seconds(29))
        var ended = state.ended(.keepAlive, at: clock.now)
        var longest = try #require(report(ended)?.retryIn)
        // Ten failures: up to a minute; with this seed it is more than the first delay may be.
        #expect(longest > .milliseconds(500))
        _ = try next(&state, &clock)
        goOnline(&state, clock)
        clock.turn(.seconds(30))
        ended = state.ended(.keepAlive, at: clock.now)
        longest = try #require(report(ended)?.retryIn)
        #expect(longest <= .milliseconds(500))
    }

    @Test func `brokers are tried in turn, and delays grow by the round`() throws {
        var (state, clock) = (state([one, two]), ManualClock())
        var tried = [try #require(attempt(state.started(at: clock.now))).broker]
        for _ in 0..<5 {
            _ = state.ended(.timedOut, at: clock.now)
            let (attempt, delay) = try next(&state, &clock)
            tried.append(attempt.broker)
            #expect(delay <= .seconds(2))
        }
        #expect(tried == [0, 1, 0, 1, 0, 1])
    }

    @Test func `after a lost connection the same broker is tried first`() throws {
        var (state, clock) = (state([one, two]), ManualClock())
        _ = state.started(at: clock.now)
        _ = state.ended(.timedOut, at: clock.now)
        #expect(try next(&state, &clock).attempt.broker == 1)
        goOnline(&state, clock)
        clock.turn(.seconds(60))
        _ = state.ended(.closedByBroker, at: clock.now)
        #expect(try next(&state, &clock).attempt.broker == 1)
    }

    @Test func `each failure turns to the next address of the broker`() throws {
        var (state, clock) = (state([one]), ManualClock())
        var turns = [try #require(attempt(state.started(at: clock.now))).addressTurn]
        for _ in 0..<3 {
            _ = state.ended(.timedOut, at: clock.now)
            turns.append(try next(&state, &clock).attempt.addressTurn)
        }
        #expect(turns == [0, 1, 2, 3])
    }

    @Test func `the same cause is reported once, another one again, and all anew after a connection`() throws
    {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        let refused = LinkState.Cause.network(code: 111, text: "refused")
        var reports: [Bool] = []
        for cause in [refused, refused, .timedOut, .timedOut, refused] {
            reports.append(report(state.ended(cause, at: clock.now)) != nil)
            _ = try next(&state, &clock)
        }
        #expect(reports == [true, false, true, false, true])
        goOnline(&state, clock)
        #expect(report(state.ended(refused, at: clock.now)) != nil)
        _ = try next(&state, &clock)
        #expect(report(state.ended(refused, at: clock.now)) != nil)
    }

    @Test func `a refused version is tried again at once with 3-1-1, and is remembered`() throws {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        state.stage = .handshaking
        let actions = state.ended(.refused(.unsupportedProtocolVersion, detail: nil), at: clock.now)
        #expect(attempt(actions)?.version == .v311)
        #expect(report(actions) == nil)
        goOnline(&state, clock)
        #expect(state.fellBack)
        clock.turn(.seconds(60))
        _ = state.ended(.closedByBroker, at: clock.now)
        #expect(try next(&state, &clock).attempt.version == .v311)
    }

    @Test func `silence on 5 makes one try with 3-1-1 at once, and goes back to 5 when that fails too`()
        throws
    {
        var (state, clock) = (state([one]), ManualClock())
        #expect(attempt(state.started(at: clock.now))?.version == .v5)
        for _ in 0..<3 {
            state.stage = .handshaking
            let second = state.ended(.closedByBroker, at: clock.now)
            #expect(attempt(second)?.version == .v311)
            #expect(report(second) == nil)
            state.stage = .handshaking
            _ = state.ended(.closedByBroker, at: clock.now)
            #expect(try next(&state, &clock).attempt.version == .v5)
        }
    }

    @Test(arguments: [LinkState.Cause.refused(.unsupportedProtocolVersion, detail: nil), .closedByBroker])
    func `5 is tried again after a day, whether it was refused or met with silence`(
        cause: LinkState.Cause
    ) throws {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        state.stage = .handshaking
        #expect(attempt(state.ended(cause, at: clock.now))?.version == .v311)
        try stays311(&state, &clock, for: .seconds(86_400))
    }

    // A broker that is about to restart may close on anything.
    @Test func `where 5 has worked before, silence counts for an hour`() throws {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        goOnline(&state, clock)
        clock.turn(.seconds(60))
        _ = state.ended(.keepAlive, at: clock.now)
        #expect(try next(&state, &clock).attempt.version == .v5)
        state.stage = .handshaking
        #expect(attempt(state.ended(.closedByBroker, at: clock.now))?.version == .v311)
        try stays311(&state, &clock, for: .seconds(3_600))
    }

    private func stays311(
        _ state: inout LinkState, _ clock: inout ManualClock, for time: Duration
    ) throws {
        goOnline(&state, clock)
        #expect(state.fellBack)
        clock.turn(time - .seconds(60))
        _ = state.ended(.closedByBroker, at: clock.now)
        #expect(try next(&state, &clock).attempt.version == .v311)
        goOnline(&state, clock)
        clock.turn(.seconds(60))
        _ = state.ended(.closedByBroker, at: clock.now)
        #expect(try next(&state, &clock).attempt.version == .v5)
    }

    @Test func `a broker that keeps no delayed will is asked again without one, once and for ever`() throws {
        var (state, clock) = (state([one]), ManualClock())
        #expect(attempt(state.started(at: clock.now))?.delaysWill == true)
        let actions = state.willDelayFound(at: clock.now)
        #expect(actions.first == .close)
        #expect(report(actions) == nil)
        #expect(attempt(actions)?.delaysWill == false)
        #expect(attempt(actions)?.version == .v5)
        #expect(state.willDelayFound(at: clock.now).isEmpty)
        goOnline(&state, clock)
        clock.turn(.seconds(60))
        _ = state.ended(.keepAlive, at: clock.now)
        #expect(try next(&state, &clock).attempt.delaysWill == false)
    }

    @Test func `a broker that is not there says nothing about its version`() throws {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        state.stage = .connecting
        _ = state.ended(.network(code: 111, text: "refused"), at: clock.now)
        #expect(try next(&state, &clock).attempt.version == .v5)
    }

    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v5, .v311])
    func `a forced version stays, whatever the broker says`(
        version: MQTTLinkConfiguration.ProtocolVersion
    ) throws {
        var (state, clock) = (state([one]) { $0.version = version }, ManualClock())
        let first = try #require(attempt(state.started(at: clock.now))).version
        state.stage = .handshaking
        _ = state.ended(.refused(.unsupportedProtocolVersion, detail: nil), at: clock.now)
        #expect(try next(&state, &clock).attempt.version == first)
        #expect(!state.fellBack)
    }

    @Test func `one longer session ends the suspicion, and other ends do not count`() throws {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        let ends: [(Duration, LinkState.Cause)] = [
            (.seconds(1), .closedByBroker), (.seconds(1), .sessionTakenOver), (.seconds(1), .closedByBroker),
            (.seconds(1), .closedByBroker), (.seconds(11), .closedByBroker), (.seconds(1), .closedByBroker),
            (.seconds(1), .batchRefused), (.seconds(1), .closedByBroker),
        ]
        for (lifetime, cause) in ends {
            goOnline(&state, clock)
            clock.turn(lifetime)
            #expect(report(state.ended(cause, at: clock.now))?.cause == cause)
            _ = try next(&state, &clock)
        }
    }

    @Test func `renewed credentials are tried at once, whatever it is doing`() throws {
        var (state, clock) = (state([one]), ManualClock())
        #expect(state.renewed(at: clock.now).isEmpty)
        let first = try #require(attempt(state.started(at: clock.now)))
        let second = state.renewed(at: clock.now)
        #expect(second.first == .close)
        #expect(report(second) == nil)
        #expect(try #require(attempt(second)).number == first.number + 1)
        goOnline(&state, clock)
        let third = state.renewed(at: clock.now)
        #expect(report(third)?.cause == .renewing)
        #expect(attempt(third) != nil)
        #expect(!state.isOnline)
        _ = state.ended(.refused(.notAuthorized, detail: nil), at: clock.now)
        clock.turn(.milliseconds(1))
        #expect(attempt(state.renewed(at: clock.now)) != nil)
        goOnline(&state, clock)
        _ = state.stopRequested(at: clock.now, within: .seconds(1))
        #expect(state.renewed(at: clock.now).isEmpty)
    }

    @Test func `stopping online says goodbye, disconnects, and finishes`() {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        goOnline(&state, clock)
        #expect(state.stopRequested(at: clock.now, within: .seconds(5)) == [.sayGoodbye])
        #expect(state.goodbyesSettled() == [.disconnect])
        #expect(state.ended(.stopped, at: clock.now) == [.close, .finish])
        #expect(state.isStopped)
        #expect(state.stopRequested(at: clock.now, within: .seconds(5)).isEmpty)
    }

    @Test func `stopping has an end of its own`() {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        goOnline(&state, clock)
        _ = state.stopRequested(at: clock.now, within: .seconds(5))
        clock.turn(.seconds(5))
        #expect(state.timePassed(at: clock.now) == [.close, .finish])
    }

    @Test func `stopping while waiting or connecting is done at once`() {
        var (state, clock) = (state([one]), ManualClock())
        _ = state.started(at: clock.now)
        #expect(state.stopRequested(at: clock.now, within: .seconds(5)) == [.close, .finish])
        var waiting = self.state([one])
        _ = waiting.started(at: clock.now)
        _ = waiting.ended(.timedOut, at: clock.now)
        #expect(waiting.stopRequested(at: clock.now, within: .seconds(5)) == [.close, .finish])
        clock.turn(.seconds(100))
        #expect(waiting.timePassed(at: clock.now).isEmpty)
    }

    @Test func `without reconnecting each broker is tried once, and the last reason ends it`() {
        var (state, clock) = (state([one, two]) { $0.reconnect.isOn = false }, ManualClock())
        _ = state.started(at: clock.now)
        let first = state.ended(.timedOut, at: clock.now)
        #expect(attempt(first)?.broker == 1)
        clock.turn(.seconds(1))
        let second = state.ended(.timedOut, at: clock.now)
        #expect(report(second)?.broker == two)
        #expect(report(second)?.retryIn == nil)
        #expect(second.last == .finish)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `whatever happens in whatever order, it neither traps nor forgets to go on`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (state, clock) = (state([one, two], seed: seed) { $0.prefersFirst = true }, ManualClock())
        _ = state.started(at: clock.now)
        let causes: [LinkState.Cause] = [
            .timedOut, .closedByBroker, .refused(.unsupportedProtocolVersion, detail: nil), .sessionTakenOver,
            .keepAlive, .serverDisconnect(.serverMoved),
        ]
        for _ in 0..<2_000 {
            let actions: [LinkState.Action]
            switch random.next() % 7 {
            case 0: actions = state.accepted(sessionPresent: random.next() % 2 == 0, at: clock.now)
            case 6: actions = state.probed(isThere: random.next() % 2 == 0, at: clock.now)
            case 1: actions = state.subscribed(at: clock.now)
            case 2: actions = state.ended(causes[Int(random.next() % 6)], at: clock.now)
            default:
                clock.turn(.milliseconds(Int64(random.next() % 20_000)))
                actions = state.timePassed(at: clock.now)
            }
            // Either it is online, or there is a time at which something happens.
            #expect(state.isOnline || state.deadline != nil, "seed \(seed): \(actions)")
            #expect(!actions.contains(.finish))
        }
    }
}
