import MQTTLink
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// Checks one broker: is it there, what is it, and what does it allow.
struct BrokerCheck {
    /// How long an answer of the broker may take.
    static let patience = Duration.seconds(2)

    let settings: BackendConfiguration
    /// The agent that is asked; nil for any that is online.
    let agent: String?
    let wait: WaitOptions

    var topics: Topics { settings.topics }
    private var sender: String { settings.name }

    /// All that is found as a sender.
    func asSender() async throws -> [DoctorFinding] {
        let wanted = [
            topics.reply(of: "+", to: sender), topics.state(of: "+"), topics.health(of: "+"),
            topics.logs(of: "+"), topics.failures(of: "+"), topics.applied(of: "+"),
        ]
        return try await examine(wanted) { session in
            var roster = Roster(topics: topics)
            var signs = BrokerEngine.Signs(session.connection)
            let reading = try await session.readAsMuch(within: wait.duration) { message in
                roster.saw(message)
                signs.saw(message)
            }
            roster.cutOff = reading.fault
            if signs.version == .v311 {
                signs.keepsOwnFilter = try await !session.subscribe(BrokerEngine.ownFilter)
            }
            let online = roster.members.filter { $0.value.isOnline == true }
            // One that is well, so that what is found is not about the agent; of one that is gone nothing is asked.
            let isGone = agent.map { roster.members[$0]?.isOnline == false } ?? false
            let target =
                isGone
                ? nil
                : agent ?? online.filter { $0.value.condition == .healthy }.keys.min() ?? online.keys.min()
            var answers = try await ask(target, &roster, session)
            let hasAnswered = answers.contains { $0.check == "clock" }
            var kept: [DoctorFinding] = []
            if let target, hasAnswered {
                answers += try await GroupCheck(agent: target, topics: topics, sender: sender, wait: wait)
                    .findings(roster, session)
                if roster.members[target]?.state == nil { kept = [try await retained(target, session)] }
            }
            let engine = BrokerEngine(signs)?.finding
            let rights = try await RightsCheck(sender: sender, topics: topics).finding(session)
            // Who sends maps is no sender of commands by the shipped rules, and that is as it should be.
            for place in answers.indices where answers[place].check == "publish" && rights.status == .ok {
                if answers[place].status == .warning { answers[place].status = .note }
            }
            // One that is recognised need not name itself.
            let version =
                engine == nil || signs.published != nil ? Self.version(signs.published, session) : nil
            return [version, engine].compactMap(\.self) + [
                subscriptions(session, wanted), agents(roster, reading),
            ]
                + FleetCheck(
                    roster: roster, agent: agent, asked: hasAnswered ? target : nil, now: WallClock.now()
                ).findings + answers + [rights] + kept
        }
    }

    /// Connects, then looks.
    func examine(
        _ wanted: [String], _ body: (BackendSession) async throws -> [DoctorFinding]
    ) async throws -> [DoctorFinding] {
        let started = MonotonicTime.instant
        return try await BackendSession.with(
            settings, required: [], useful: wanted + [BrokerVersion.topic, BrokerEngine.descriptions],
            within: .seconds(10)
        ) { session in
            let connection = session.connection
            let time = (MonotonicTime.instant - started).milliseconds
            let there = DoctorFinding(
                "broker", .ok,
                "connected to \(connection.broker) in \(time) ms, MQTT \(connection.version)"
                    + (connection.fellBack
                        ? " (it \(connection.wasSilentOn5 ? "does not answer" : "refused") 5)" : ""))
            let certificates = CertificateCheck(tls: settings.tls, now: WallClock.now() / 1000)
            let announced = AnnouncedLimits(connection)
            let first =
                [there] + announced.findings
                + certificates.findings(of: connection.certificate, host: connection.broker.host)
            // Whatever else failed would have this reason, and be called another.
            guard !announced.isTooLittle else {
                return first + [
                    DoctorFinding(
                        "agents", .skipped,
                        "agents and rights were not looked at: with what the broker announces no agent can sign in"
                    )
                ]
            }
            return first + (try await body(session))
        }
    }

    static func version(_ text: String?, _ session: BackendSession) -> DoctorFinding {
        let host = session.connection.broker.host
        let isHere = host == "localhost" || host == "::1" || host.hasPrefix("127.")
        return text.map {
            BrokerVersion($0).finding(package: isHere ? InstalledPackage.version(of: "mosquitto") : nil)
        }
            ?? DoctorFinding(
                "version", .skipped,
                "the broker does not publish its version, or \(BrokerVersion.topic) may not be read")
    }

    func subscriptions(_ session: BackendSession, _ wanted: [String]) -> DoctorFinding {
        let others = session.connection.subscriptions.filter {
            !$0.isGranted && wanted.contains($0.subscription.filter)
        }
        guard others.isEmpty else {
            let list = others.map { "\($0.subscription.filter) \($0.answer)" }.joined(separator: ", ")
            // What is granted at a lower QoS is no matter of rules.
            let isByRules = others.contains { if case .lowered = $0.answer { false } else { true } }
            return DoctorFinding(
                "subscribe", .failed, list,
                advice: isByRules
                    ? "allow \(sender) to read these topics in the broker's rules"
                    : "the broker must give them at QoS 1")
        }
        return DoctorFinding("subscribe", .ok, "all \(wanted.count) subscriptions were granted")
    }

    private func agents(_ roster: Roster, _ reading: RetainedReading) -> DoctorFinding {
        let online = roster.members.filter { $0.value.isOnline == true }
        let text = "\(roster.members.count) known, \(online.count) online"
        if let gap = roster.gap {
            let advice =
                switch reading {
                case .late: "wait longer: --wait 1m"
                case .droppedByBroker:
                    "let the broker hold more for a client, as many messages as there are agents"
                case .droppedHere, .whole: "look at a part of them: --agent"
                }
            return DoctorFinding("agents", .warning, "\(text); \(gap)", advice: advice)
        }
        if roster.members.isEmpty {
            return DoctorFinding(
                "agents", .warning, "there are none under \(topics.root)",
                advice: "is this the right broker and --root, and may \(sender) read +/state?")
        }
        return DoctorFinding("agents", .ok, text)
    }

    /// Writes to an agent and reads its answer, which shows both rights at once, and its clock.
    private func ask(
        _ target: String?, _ roster: inout Roster, _ session: BackendSession
    ) async throws -> [DoctorFinding] {
        let now = WallClock.now()
        let command = Command(sending: .ping())
        // Without an agent there is no answer, but a broker that speaks MQTT 5 says whether we may write.
        let topic = topics.command(to: .agent(target ?? "doctor-\(Identifier.short())"), from: sender)
        let asked = MonotonicTime.instant
        do {
            try await session.publish(.json(topic, command.encoded()))
        } catch let error as BackendError where error.exit == .failed {
            return [
                DoctorFinding(
                    "publish", .warning, "\(sender) may not command or ask agents: \(error.wording.shell)",
                    advice: "nothing, if it need not; to send commands, allow \(sender) to write to "
                        + "\(topics.root)/+/cmd/\(sender) in the broker's rules")
            ]
        }
        guard let target else {
            return session.connection.version == .v5
                ? [
                    DoctorFinding(
                        "publish", .ok,
                        "the broker accepts what \(sender) writes to \(topics.root)/+/cmd/\(sender)")
                ]
                : [
                    DoctorFinding(
                        "publish", .skipped,
                        "\(agent ?? "no agent") is \(agent == nil ? "" : "not ")online to answer")
                ]
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
            return [noAnswer(from: target, roster.members[target]?.health, to: topic, session)]
        }
        let trip = (MonotonicTime.instant - asked).milliseconds
        if reply.code == .ok { roster.answered(target, reply.result) }
        return [
            DoctorFinding("publish", .ok, "\(target) answers a ping in \(trip) ms (\(reply.code.name))"),
            Self.clock(of: reply, from: target, asked: now, trip: trip),
        ]
    }

    /// Why an agent does not answer: what it says itself, or what is known of the connection.
    private func noAnswer(
        from target: String, _ health: Health?, to topic: String, _ session: BackendSession
    ) -> DoctorFinding {
        let found = "\(target) does not answer a ping within \(wait.text)"
        let deaf = health?.checks.first {
            ["subscriptions", "commands", "echo", "loop"].contains($0.name) && $0.state == .failed
        }
        if let deaf {
            return DoctorFinding(
                "publish", .failed, "\(found); its health says: \(deaf.name): \(deaf.detail)",
                advice: deaf.advice)
        }
        let reply = topics.reply(of: target, to: sender)
        let isAccepted = session.connection.version == .v5
        return DoctorFinding(
            "publish", .failed,
            found
                + (isAccepted
                    ? "; the broker accepted the command"
                    : "; with MQTT 3.1.1 a broker does not say whether it refused the command"),
            advice:
                "on the machine of \(target): waypost doctor --local. If that finds nothing, let \(sender) "
                + "\(isAccepted ? "" : "write \(topic) and ")read \(reply) in the broker's rules")
    }

    /// Why an agent that answers has no retained state among those that came for `+`.
    private func retained(_ target: String, _ session: BackendSession) async throws -> DoctorFinding {
        let topic = topics.state(of: target)
        guard try await session.subscribe(topic) else {
            return DoctorFinding("retained", .skipped, "\(sender) may not read \(topic)")
        }
        let came = try await session.wait(Self.patience) { $0.topic == topic && $0.retain }
        return came
            ? DoctorFinding(
                "retained", .warning, "the broker gives retained messages to \(topic), and none to wildcards",
                advice:
                    "agents, watch and logcat show an agent only once it publishes something; some brokers, such as "
                    + "RabbitMQ, work like that")
            : DoctorFinding(
                "retained", .warning, "\(target) is online, and the broker has no state of it",
                advice:
                    "the broker keeps no retained messages, or has lost them: then maps are lost too. Switch its "
                    + "persistence on, restart the agent and send its map again")
    }

    /// How far an agent's clock is off, by its reply to what was asked at `now`; all in milliseconds.
    static func clock(of reply: Reply, from agent: String, asked now: Int64, trip: Int64) -> DoctorFinding {
        guard let offset = ClockOffset(of: reply, asked: now, trip: trip) else {
            return DoctorFinding("clock", .failed, "\(agent) reports no time")
        }
        let text = offset.text(of: agent)
        guard offset.isLarge else { return DoctorFinding("clock", .ok, text) }
        return DoctorFinding(
            "clock", offset.isTooLarge ? .failed : .warning, text,
            advice: "synchronise both clocks with NTP: timedatectl set-ntp true")
    }

    func rights(_ error: BackendError, to check: String, for name: String) -> DoctorFinding {
        DoctorFinding(check, .failed, error.wording.shell, advice: "allow \(name) to write this topic")
    }
}

extension BackendSession {
    /// Takes messages until one satisfies; false when none did in time.
    func wait(
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

extension BrokerEngine.Signs {
    /// Takes what the broker says of itself.
    mutating func saw(_ message: MQTTMessage) {
        if message.topic == BrokerVersion.topic {
            published = String(decoding: message.payload, as: UTF8.self)
        } else if message.topic.hasPrefix("$SYS/brokers/"), message.topic.hasSuffix("/sysdescr") {
            description = String(decoding: message.payload, as: UTF8.self)
        }
    }
}
