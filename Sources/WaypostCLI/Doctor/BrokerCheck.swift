import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

/// Checks one broker: is it there, what is it, and what does it allow.
struct BrokerCheck {
    /// How long an answer of the broker may take.
    private static let patience = Duration.seconds(2)

    let settings: BackendConfiguration
    /// The agent that is asked; nil for any that is online.
    let agent: String?
    let wait: WaitOptions

    private var topics: Topics { settings.topics }
    private var sender: String { settings.name }

    /// All that is found as a sender.
    func asSender() async throws -> [DoctorFinding] {
        let wanted = [
            topics.reply(of: "+", to: sender), topics.state(of: "+"), topics.health(of: "+"),
            topics.logs(of: "+"), topics.failures(of: "+"), topics.applied(of: "+"),
        ]
        return try await examine(wanted) { session in
            var roster = Roster(topics: topics)
            var version: String?
            let isComplete = try await session.readRetained(within: wait.duration) { message in
                roster.saw(message)
                if message.topic == BrokerVersion.topic {
                    version = String(decoding: message.payload, as: UTF8.self)
                }
            }
            let target = agent ?? roster.members.filter { $0.value.isOnline == true }.keys.min()
            let answers = try await ask(target, session)
            let hasAnswered = answers.contains { $0.check == "clock" }
            let kept =
                if let target, hasAnswered, roster.members[target]?.state == nil {
                    [try await retained(target, session)]
                } else {
                    [DoctorFinding]()
                }
            return [
                Self.version(version, session), subscriptions(session, wanted), agents(roster, isComplete),
            ]
                + troubles(roster) + answers + kept
        }
    }

    /// All that is found as the agent itself: its rights, by what comes back of its messages to itself.
    func asAgent(_ name: String, groups: [String]) async throws -> [DoctorFinding] {
        let wanted = topics.filters(of: name, groups: groups)
        return try await examine(wanted) { session in
            let nonce = Identifier.ulid()
            let echo = MQTTMessage.json(
                topics.echo(of: name), SelfTestPayload.echo(boot: Identifier.boot(), nonce: nonce))
            let ping = MQTTMessage.json(
                topics.command(to: .agent(name), from: name), SelfTestPayload.ping(nonce: nonce))
            var answers: [String: Result<Bool, BackendError>] = [:]
            for probe in [echo, ping] {
                do {
                    try await session.publish(probe)
                    answers[probe.topic] = .success(false)
                } catch let error as BackendError where error.exit == .failed {
                    answers[probe.topic] = .failure(error)
                }
            }
            var version: String?
            _ = try await session.wait(Self.patience) { message in
                if message.topic == BrokerVersion.topic {
                    version = String(decoding: message.payload, as: UTF8.self)
                }
                for probe in [echo, ping]
                where message.topic == probe.topic && message.payload == probe.payload {
                    answers[probe.topic] = .success(true)
                }
                return answers.values.allSatisfy { (try? $0.get()) != false } && version != nil
            }
            return [
                Self.version(version, session), subscriptions(session, wanted),
                self.echo(answers[echo.topic], echo.topic, of: name),
                commands(answers[ping.topic], ping.topic, of: name, session.connection.version),
            ]
        }
    }

    private func echo(
        _ answer: Result<Bool, BackendError>?, _ topic: String, of name: String
    ) -> DoctorFinding {
        switch answer {
        case .success(true): DoctorFinding("echo", .ok, "a message to \(topic) came back")
        case .failure(let error): rights(error, to: "echo", for: name)
        case .success(false), nil:
            DoctorFinding(
                "echo", .failed, "a message to \(topic) did not come back",
                advice: "the broker's rules do not let \(name) write or read it. " + Self.silence)
        }
    }

    /// Commands need not be allowed from the agent itself, so that a message does not come back proves something only
    /// when the broker has said that it took it.
    private func commands(
        _ answer: Result<Bool, BackendError>?, _ topic: String, of name: String, _ version: MQTTVersion
    ) -> DoctorFinding {
        switch answer {
        case .success(true): DoctorFinding("commands", .ok, "a command to \(topic) came back")
        case .success(false) where version == .v5:
            DoctorFinding(
                "commands", .failed, "the broker took a command to \(topic) and did not deliver it",
                advice: "the broker's rules do not let \(name) read it. " + Self.silence)
        case .success, .failure, nil:
            DoctorFinding(
                "commands", .skipped,
                "it can't be known whether commands arrive: \(name) may not write to \(topic), or the broker does not say so",
                advice: "to see it: waypost ping \(name), as a sender")
        }
    }

    private static let silence =
        "Some brokers do not say so: they grant the subscription and drop the messages"

    /// Connects, then looks.
    private func examine(
        _ wanted: [String], _ body: (BackendSession) async throws -> [DoctorFinding]
    ) async throws -> [DoctorFinding] {
        let started = ContinuousClock.now
        return try await BackendSession.with(
            settings, required: [], useful: wanted + [BrokerVersion.topic], within: .seconds(10)
        ) { session in
            let connection = session.connection
            let time = (ContinuousClock.now - started).milliseconds
            let there = DoctorFinding(
                "broker", .ok,
                "connected to \(connection.broker) in \(time) ms, MQTT \(connection.version)"
                    + (connection.fellBack ? " (it refused 5)" : ""))
            let certificates = CertificateCheck(tls: settings.tls, now: WallClock.now() / 1000)
            return [there] + certificates.findings(of: connection.certificate, host: connection.broker.host)
                + (try await body(session))
        }
    }

    private static func version(_ text: String?, _ session: BackendSession) -> DoctorFinding {
        let host = session.connection.broker.host
        let isHere = host == "localhost" || host == "::1" || host.hasPrefix("127.")
        return text.map {
            BrokerVersion($0).finding(package: isHere ? InstalledPackage.version(of: "mosquitto") : nil)
        }
            ?? DoctorFinding(
                "version", .skipped,
                "the broker does not publish its version, or \(BrokerVersion.topic) may not be read")
    }

    private func subscriptions(_ session: BackendSession, _ wanted: [String]) -> DoctorFinding {
        let refused = session.connection.subscriptions.filter {
            !$0.isGranted && wanted.contains($0.subscription.filter)
        }
        guard refused.isEmpty else {
            let list = refused.map { "\($0.subscription.filter) (\($0.answer))" }.joined(separator: ", ")
            return DoctorFinding(
                "subscribe", .failed, "refused: \(list)",
                advice: "allow \(sender) to read these topics")
        }
        return DoctorFinding("subscribe", .ok, "all \(wanted.count) subscriptions are granted")
    }

    /// The agents that are in trouble and shown one by one.
    private static let shownTroubles = 20

    /// How all agents are, or the one that was named.
    private func troubles(_ roster: Roster) -> [DoctorFinding] {
        let all = roster.troubles().filter { agent == nil || $0.agent == agent }
        let shown = all.prefix(Self.shownTroubles).map { agent, condition, text in
            let advice =
                switch condition {
                case .lost:
                    "is it on, and does its network reach the broker? On its machine: waypost doctor --local"
                case .failing:
                    "what the checks mean, and what to do, stands in the guide to operating, under Health"
                default: "correct the map and send it with a higher rev; the one before is in force"
                }
            return DoctorFinding("agent", .failed, "\(agent): \(text)", advice: advice)
        }
        let more = all.count - shown.count
        return shown
            + (more > 0
                ? [DoctorFinding("agent", .failed, "and \(more) more", advice: "see: waypost agents")] : [])
    }

    private func agents(_ roster: Roster, _ isComplete: Bool) -> DoctorFinding {
        let online = roster.members.filter { $0.value.isOnline == true }
        let text = "\(roster.members.count) known, \(online.count) online"
        if roster.members.isEmpty {
            return DoctorFinding(
                "agents", .warning, "there are none under \(topics.root)",
                advice: "is this the right broker and --root, and may \(sender) read +/state?")
        }
        guard isComplete else {
            return DoctorFinding(
                "agents", .warning, "\(text); the broker had not sent all within \(wait.text)",
                advice: "wait longer: --wait 1m")
        }
        return DoctorFinding("agents", .ok, text)
    }

    /// Writes to an agent and reads its answer, which shows both rights at once, and its clock.
    private func ask(_ target: String?, _ session: BackendSession) async throws -> [DoctorFinding] {
        let now = WallClock.now()
        let command = Command(sending: .ping)
        // Without an agent there is no one to answer, but a broker that speaks MQTT 5 says whether we may write.
        let topic = topics.command(to: .agent(target ?? "doctor-\(Identifier.short())"), from: sender)
        let asked = ContinuousClock.now
        do {
            try await session.publish(.json(topic, command.encoded()))
        } catch let error as BackendError where error.exit == .failed {
            return [rights(error, to: "publish", for: sender)]
        }
        guard let target else {
            return session.connection.version == .v5
                ? [
                    DoctorFinding(
                        "publish", .ok,
                        "the broker accepts what \(sender) writes to \(topics.root)/+/cmd/\(sender)")
                ]
                : [DoctorFinding("publish", .skipped, "no agent is online to answer")]
        }
        var reply: Reply?
        let came = try await session.wait(wait.duration) { message in
            guard message.topic == topics.reply(of: target, to: sender),
                let answer = message.json.flatMap({ try? Reply($0) }), answer.id == command.id,
                answer.status != .accepted
            else { return false }
            reply = answer
            return true
        }
        guard came, let reply else {
            return [
                DoctorFinding(
                    "publish", .failed, "\(target) does not answer a ping within \(wait.text)",
                    advice: "is it online (waypost agents)? If so, may \(sender) write \(topic) and read "
                        + "\(topics.reply(of: target, to: sender))? Some brokers drop messages without an error"
                )
            ]
        }
        let trip = (ContinuousClock.now - asked).milliseconds
        return [
            DoctorFinding("publish", .ok, "\(target) answers a ping in \(trip) ms (\(reply.code.name))"),
            Self.clock(of: reply, from: target, asked: now, trip: trip),
        ]
    }

    /// Why an agent that answers has no retained state among those that came for `+`.
    private func retained(_ target: String, _ session: BackendSession) async throws -> DoctorFinding {
        let topic = topics.state(of: target)
        guard await session.subscribe(topic) else {
            return DoctorFinding("retained", .skipped, "\(sender) may not read \(topic)")
        }
        let came = try await session.wait(Self.patience) { $0.topic == topic && $0.retain }
        return came
            ? DoctorFinding(
                "retained", .warning, "the broker gives retained messages to \(topic), and none to wildcards",
                advice:
                    "agents, watch and logcat show an agent only once it publishes something; some brokers, such as "
                    + "RabbitMQ, are made so")
            : DoctorFinding(
                "retained", .warning, "\(target) is online, and the broker has no state of it",
                advice:
                    "the broker keeps no retained messages, or has lost them: then maps are lost too. Switch its "
                    + "persistence on, restart the agent and send its map again")
    }

    /// How far an agent's clock is off, by its reply to what was asked at `now`; all in milliseconds.
    static func clock(of reply: Reply, from agent: String, asked now: Int64, trip: Int64) -> DoctorFinding {
        guard let offset = ClockOffset(of: reply, asked: now, trip: trip) else {
            return DoctorFinding("clock", .failed, "the clock of \(agent) shows no time")
        }
        let text = offset.text(of: agent)
        guard offset.isLarge else { return DoctorFinding("clock", .ok, text) }
        return DoctorFinding(
            "clock", offset.isTooLarge ? .failed : .warning, text,
            advice: "synchronise both clocks with NTP: timedatectl set-ntp true")
    }

    private func rights(_ error: BackendError, to check: String, for name: String) -> DoctorFinding {
        DoctorFinding(check, .failed, error.description, advice: "allow \(name) to write this topic")
    }
}

extension BackendSession {
    /// Takes messages until one satisfies; false when none did in time.
    fileprivate func wait(
        _ limit: Duration, until satisfies: (MQTTMessage) -> Bool
    ) async throws -> Bool {
        let alarm = alarm(after: limit)
        defer { alarm.cancel() }
        while case .message(let message) = try await next() {
            if satisfies(message) { return true }
        }
        return false
    }
}
