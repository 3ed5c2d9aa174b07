import TestSupport
import Testing

@testable import MQTTLink

/// How the state machine goes through a list of brokers.
struct LinkStateBrokersTests {
    /// A state machine with its clock.
    private struct Driver {
        var state: LinkState
        var clock = ManualClock()
        var broker: Int?
        var reports: [DisconnectReason] = []

        init(_ count: Int, seed: UInt64 = 1, _ change: (inout LinkState.Settings) -> Void = { _ in }) {
            var settings = LinkState.Settings(
                brokers: (0..<count).map { BrokerURL(host: "broker-\($0)", port: 1883) })
            change(&settings)
            state = LinkState(settings, random: SeededGenerator(seed: seed))
            take(state.started(at: clock.now))
        }

        mutating func take(_ actions: [LinkState.Action]) {
            for action in actions {
                switch action {
                case .connect(let attempt): broker = attempt.broker
                case .report(let reason): reports.append(reason)
                default: break
                }
            }
        }

        mutating func ended(_ cause: LinkState.Cause) { take(state.ended(cause, at: clock.now)) }

        mutating func goOnline(for time: Duration = .zero, sessionPresent: Bool = true) {
            take(state.accepted(sessionPresent: sessionPresent, at: clock.now))
            take(state.subscribed(at: clock.now))
            clock.turn(time)
        }

        /// Lets the time pass until the next attempt, and returns it.
        mutating func wait() throws -> Duration {
            let delay = clock.now.duration(to: try #require(state.deadline))
            clock.turn(delay)
            take(state.timePassed(at: clock.now))
            return delay
        }
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `with two of three brokers dead the third is reached within seconds, whatever was before`(
        seed: UInt64
    ) throws {
        var driver = Driver(3, seed: seed)
        // Hours with all three away.
        for _ in 0..<300 {
            driver.ended(.timedOut)
            _ = try driver.wait()
        }
        // Now the last one is there; at the worst the longest delay has just begun.
        while driver.broker != 0 {
            driver.ended(.timedOut)
            _ = try driver.wait()
        }
        var time = Duration.zero
        while driver.broker != 2 {
            driver.ended(.timedOut)
            time += try driver.wait()
        }
        #expect(time <= .seconds(1))
    }

    @Test func `the delay grows by the round, and not by the broker`() throws {
        var driver = Driver(3)
        var ceiling = Duration.milliseconds(500)
        for _ in 0..<9 {
            for step in 1...3 {
                driver.ended(.network(code: 111, text: "refused"))
                let delay = try driver.wait()
                #expect(delay <= (step == 3 ? ceiling : .milliseconds(500)))
            }
            ceiling = min(ceiling * 2, .seconds(60))
        }
    }

    @Test func `a connection that ends before it is of use counts as a failed attempt`() throws {
        var driver = Driver(2)
        driver.take(driver.state.accepted(sessionPresent: true, at: driver.clock.now))
        driver.ended(.closedByBroker)
        #expect(driver.reports.map(\.stage) == [.subscribing])
        _ = try driver.wait()
        #expect(driver.broker == 1)
        // However often: it is not another client that takes the session.
        for _ in 0..<40 {
            driver.take(driver.state.accepted(sessionPresent: true, at: driver.clock.now))
            driver.ended(.closedByBroker)
            #expect(try driver.wait() <= .seconds(60))
        }
        #expect(driver.reports.allSatisfy { $0.cause == .closedByBroker })
    }

    @Test func `the same failure is told again every ten minutes, with the time of the next try`() throws {
        var driver = Driver(1)
        let began = driver.clock.now
        while driver.clock.now - began < .seconds(3_600) {
            driver.ended(.network(code: 111, text: "refused"))
            _ = try driver.wait()
        }
        #expect((5...7).contains(driver.reports.count), "\(driver.reports.count)")
        #expect(driver.reports.allSatisfy { $0.retryIn != nil })
    }

    @Test(arguments: [LinkState.Cause.keepAlive, .serverDisconnect(ReasonCode(rawValue: 0x8B))])
    func `a broker that hangs or goes is left for the next one`(cause: LinkState.Cause) throws {
        var driver = Driver(2)
        driver.goOnline(for: .seconds(3_600))
        driver.ended(cause)
        #expect(try driver.wait() <= .milliseconds(500))
        #expect(driver.broker == 1)
    }

    @Test func `a session of a few seconds sends the link to the next broker`() throws {
        var driver = Driver(2)
        driver.goOnline(for: .seconds(5))
        driver.ended(.closedByBroker)
        _ = try driver.wait()
        #expect(driver.broker == 1)
    }

    /// What a broker that restarts, forgets or loses its network looks like.
    @Test(arguments: [
        "it forgets the session", "an attempt fails", "it resets the connection", "it closes at SUBSCRIBE",
    ])
    func `short sessions are no conflict when`(_ circumstance: String) throws {
        var driver = Driver(1)
        for _ in 0..<30 {
            driver.goOnline(for: .seconds(2), sessionPresent: circumstance != "it forgets the session")
            driver.ended(
                circumstance == "it resets the connection"
                    ? .network(code: 104, text: "reset") : .closedByBroker)
            _ = try driver.wait()
            if circumstance == "an attempt fails" {
                driver.ended(.network(code: 111, text: "refused"))
                _ = try driver.wait()
            } else if circumstance == "it closes at SUBSCRIBE" {
                driver.take(driver.state.accepted(sessionPresent: true, at: driver.clock.now))
                driver.ended(.closedByBroker)
                _ = try driver.wait()
            }
        }
        for reason in driver.reports {
            if case .clientIDConflict = reason.cause { Issue.record("\(reason)") }
        }
    }

    // RabbitMQ refuses the subscriptions and closes when the node is down that has the queue.
    @Test
    func `a broker that refuses a subscription and closes makes no conflict, and the next one is tried`()
        throws
    {
        var driver = Driver(2)
        for round in 0..<20 {
            let tried = driver.broker
            driver.take(driver.state.accepted(sessionPresent: true, at: driver.clock.now))
            driver.take(driver.state.subscribed(hasRefused: true, at: driver.clock.now))
            driver.clock.turn(.milliseconds(10))
            driver.ended(.closedByBroker)
            #expect(driver.reports.last?.cause == .closedByBroker, "round \(round)")
            #expect(driver.reports.last?.stage == .subscribing)
            #expect(driver.reports.last?.advice?.contains("RabbitMQ") == true)
            _ = try driver.wait()
            #expect(driver.broker != tried, "round \(round)")
        }
    }

    @Test func `a broker that says so makes a conflict, known session or not`() throws {
        var driver = Driver(1)
        for _ in 0..<5 {
            driver.goOnline(for: .seconds(2), sessionPresent: false)
            driver.ended(.sessionTakenOver)
            _ = try driver.wait()
        }
        #expect(driver.reports.last?.cause == .clientIDConflict(shortSessions: 5))
    }

    @Test func `a second client is left the session for seconds, and never for more than a minute`() throws {
        var driver = Driver(1)
        var pauses: [Duration] = []
        for turn in 1...40 {
            driver.goOnline(for: .seconds(1))
            driver.ended(.closedByBroker)
            #expect(
                driver.reports.last?.cause
                    == (turn < 5 ? .closedByBroker : .clientIDConflict(shortSessions: turn)))
            pauses.append(try driver.wait())
        }
        #expect(pauses[4] >= .seconds(5) && pauses[4] <= .seconds(10))
        #expect(pauses.suffix(30).allSatisfy { $0 >= .seconds(30) && $0 <= .seconds(60) })
        // Half an hour of it is not told at each turn.
        let told = driver.reports.dropFirst(4).count { !$0.isRepeated }
        #expect((2...4).contains(told), "\(told)")
        // The other one has gone: the next session is ours to keep, and a second conflict is news.
        driver.goOnline(for: .seconds(60))
        driver.ended(.closedByBroker)
        _ = try driver.wait()
        for _ in 0..<5 {
            driver.goOnline(for: .seconds(1))
            driver.ended(.closedByBroker)
            _ = try driver.wait()
        }
        #expect(driver.reports.last?.cause == .clientIDConflict(shortSessions: 5))
        #expect(driver.reports.last?.isRepeated == false)
    }

    @Test(arguments: [ReasonCode.quotaExceeded, .useAnotherServer, .serverMoved])
    func `a broker that says to stay away has peace for minutes and is reported once`(code: ReasonCode) throws
    {
        var driver = Driver(1)
        for _ in 0..<5 {
            driver.ended(.refused(code, detail: nil))
            let delay = try driver.wait()
            #expect(delay >= .seconds(120) && delay <= .seconds(300))
        }
        #expect(driver.reports.count == 1)
        // Also when it accepts first, and when sessions in between are short.
        for _ in 0..<5 {
            driver.goOnline(for: .seconds(2))
            driver.ended(.serverDisconnect(code))
            #expect(try driver.wait() >= .seconds(120))
        }
        #expect(driver.reports.count { !$0.isRepeated } == 2)
        driver.goOnline(for: .seconds(60))
        driver.ended(.serverDisconnect(code))
        #expect(driver.reports.last?.isRepeated == false)
    }

    @Test func `with another broker in the list the one that says so waits alone`() throws {
        var driver = Driver(2)
        driver.ended(.refused(.serverMoved, detail: nil))
        #expect(try driver.wait() <= .milliseconds(500))
        #expect(driver.broker == 1)
        var time = Duration.zero
        while driver.broker == 1 {
            driver.ended(.timedOut)
            time += try driver.wait()
        }
        #expect(time >= .seconds(60) && time <= .seconds(400))
    }

    @Test func `the preferred broker is looked for, and left for only when it is there`() throws {
        var driver = Driver(3) { $0.prefersFirst = true }
        for _ in 0..<2 {
            driver.ended(.timedOut)
            _ = try driver.wait()
        }
        #expect(driver.broker == 2)
        driver.goOnline()
        for _ in 0..<3 {
            let due = try #require(driver.state.deadline)
            #expect(driver.clock.now.duration(to: due) == .seconds(600))
            driver.clock.turn(.seconds(600))
            #expect(driver.state.timePassed(at: driver.clock.now) == [.probe(broker: 0)])
            #expect(driver.state.deadline == nil)
            #expect(driver.state.probed(isThere: false, at: driver.clock.now).isEmpty)
        }
        driver.clock.turn(.seconds(600))
        driver.take(driver.state.timePassed(at: driver.clock.now))
        driver.take(driver.state.probed(isThere: true, at: driver.clock.now))
        #expect(driver.broker == 0)
        #expect(driver.reports.last?.cause == .returning)
        // It does not take us: back at once, and twice as long until the next time.
        driver.ended(.refused(.notAuthorized, detail: nil))
        #expect(try driver.wait() == .zero)
        #expect(driver.broker == 2)
        driver.goOnline()
        #expect(driver.clock.now.duration(to: try #require(driver.state.deadline)) == .seconds(1_200))
        // Lost: the list begins with the preferred one.
        driver.clock.turn(.seconds(60))
        driver.ended(.closedByBroker)
        _ = try driver.wait()
        #expect(driver.broker == 0)
        driver.goOnline()
        #expect(driver.state.deadline == nil)
    }
}
