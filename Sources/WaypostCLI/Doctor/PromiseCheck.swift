import MQTTLink
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// Tries what a broker promises: that it keeps retained messages, sessions, and all that waits in them.
///
/// It uses a topic of an agent that does not exist, one connection at a time, and leaves nothing behind.
struct PromiseCheck {
    /// More than mosquitto, EMQX and HiveMQ keep for a client unless told otherwise.
    private static let messages = 1_200
    /// No broker that still has something is silent for so long.
    private static let silence = Duration.seconds(2)

    /// All brokers of the list: what one keeps the others should have, too.
    let settings: BackendConfiguration
    private let agent = "doctor-\(Identifier.short())"

    init(settings: BackendConfiguration) { self.settings = settings }

    private var topic: String { settings.topics.echo(of: agent) }
    private var wildcard: String { settings.topics.echo(of: "+") }

    /// - Throws: ``BackendError`` when no broker can be reached.
    func findings() async throws -> [DoctorFinding] {
        switch try await leaveRetained() {
        case .obstacle(let finding): return [finding]
        case .unavailable: return [Self.noneRetained] + (try await session())
        case .left: break
        }
        let retained: Result<[DoctorFinding], any Error>
        do { retained = .success(try await readRetained()) } catch { retained = .failure(error) }
        // Whatever came of it.
        try await publish([MQTTMessage(topic: topic, payload: [], retain: true)])
        return try retained.get() + (try await session())
    }

    private func publish(_ messages: [MQTTMessage]) async throws {
        let session = try await BackendSession.connect(settings, required: [])
        try await withThrowingTaskGroup { group in
            for message in messages { group.addTask { try await session.publish(message) } }
            try await group.waitForAll()
        }
        await session.close()
    }

    // MARK: Retained messages

    private enum Beginning {
        case left
        /// The broker says that it keeps none.
        case unavailable
        /// Why nothing can be tried.
        case obstacle(DoctorFinding)
    }

    /// Leaves one, and sees it come as it is published.
    private func leaveRetained() async throws -> Beginning {
        let session = try await BackendSession.connect(settings, required: [], useful: [topic])
        guard session.connection.features.retainAvailable else {
            await session.close()
            return .unavailable
        }
        let obstacle: String?
        do {
            try await session.publish(MQTTMessage(topic: topic, payload: Array("1".utf8), retain: true))
            let came = try await session.wait(BrokerCheck.patience) { $0.topic == topic }
            obstacle = came ? nil : "a message to \(topic) did not come back"
        } catch let error as BackendError where error.exit == .failed {
            obstacle = error.wording.shell
        }
        await session.close()
        guard let obstacle else { return .left }
        return .obstacle(
            DoctorFinding(
                "promises", .skipped, "nothing could be tried: \(obstacle)",
                advice:
                    "use a name that may write and read \(wildcard), or a broker with the same settings and no rules"
            ))
    }

    private static let noneRetained = DoctorFinding(
        "retained", .warning, "the broker keeps no retained messages",
        advice:
            "send maps again when an agent comes online without its map; agents, watch and logcat show an agent "
            + "only once it publishes something")

    private func readRetained() async throws -> [DoctorFinding] {
        var (without, onlyExact, complete): ([String], [String], [String]) = ([], [], [])
        for url in settings.brokers {
            var one = settings
            one.brokers = [url]
            if try await comes(wildcard, one) {
                complete.append(url.description)
            } else if try await comes(topic, one) {
                onlyExact.append(url.description)
            } else {
                without.append(url.description)
            }
        }
        return Self.retained(without: without, onlyExact: onlyExact, complete: complete)
    }

    /// What follows from the addresses that have it not, have it for its own topic, or for a wildcard as well.
    static func retained(without: [String], onlyExact: [String], complete: [String]) -> [DoctorFinding] {
        if complete.isEmpty && onlyExact.isEmpty { return [noneRetained] }
        var findings: [DoctorFinding] = []
        if !without.isEmpty {
            findings.append(
                DoctorFinding(
                    "retained", .warning,
                    "what is retained at one address is not at \(without.joined(separator: ", "))",
                    advice:
                        "maps and states are missing there: send a map again to an agent that comes online without "
                        + "it, and do not take an agent for gone that has no state"))
        }
        if !onlyExact.isEmpty {
            findings.append(
                DoctorFinding(
                    "retained", .warning, "retained messages come to their own topic, and none to wildcards",
                    advice:
                        "maps arrive; agents, watch and logcat show an agent only once it publishes something"
                ))
        }
        guard findings.isEmpty else { return findings }
        return [
            DoctorFinding(
                "retained", .ok,
                "a retained message comes back through a wildcard"
                    + (complete.count > 1 ? ", at all \(complete.count) addresses" : ""))
        ]
    }

    /// Whether the message comes as a retained one to a new subscriber.
    private func comes(_ filter: String, _ one: BackendConfiguration) async throws -> Bool {
        let session = try await BackendSession.connect(one, required: [], useful: [filter])
        let came = try await session.wait(BrokerCheck.patience) { $0.topic == topic && $0.retain }
        await session.close()
        return came
    }

    // MARK: A session, and what waits in it

    private func session() async throws -> [DoctorFinding] {
        let first = try await open()
        let granted = first.connection.features.sessionExpiry
        await first.disconnect()
        try await publish(
            (0..<Self.messages).map { MQTTMessage(topic: topic, payload: Array("\($0)".utf8)) })
        let second = try await open()
        var seen: Set<String> = []
        while seen.count < Self.messages, let message = await next(of: second) {
            if message.topic == topic { seen.insert(String(decoding: message.payload, as: UTF8.self)) }
        }
        await second.disconnect()
        // So that the broker forgets it.
        await (try open(clean: true)).disconnect()
        let old =
            second.connection.fellBack
            ? [
                DoctorFinding(
                    "MQTT 5", .note, "the broker speaks MQTT 3.1.1 only",
                    advice:
                        "nothing has to be done: all works with it, but a broker then does not say which messages "
                        + "it refuses, and keeps sessions for as long as it is set to")
            ] : []
        return old + [
            Self.kept(second.connection.sessionPresent, seen.count, granted),
            Self.queue(seen.count, hasFirst: seen.contains("0")),
        ]
    }

    /// A session that the broker is to keep, as that of an agent.
    private func open(clean: Bool = false) async throws -> MQTTSession {
        var configuration = settings.oneShot(clientID: "waypost-\(agent)")
        configuration.cleanStart = clean
        configuration.sessionExpiry = clean ? 0 : 86_400
        configuration.subscriptions = clean ? [] : [Subscription(topic)]
        do {
            return try await MQTTSession.connect(configuration)
        } catch {
            throw BackendError(.noBroker, "no broker: \(error.words)")
        }
    }

    /// The next message; nil after some silence, or when the connection has ended.
    private func next(of session: MQTTSession) async -> MQTTMessage? {
        let alarm = Task {
            try await MonotonicTime.sleep(for: Self.silence)
            session.queue.alarm()
        }
        defer { alarm.cancel() }
        guard case .message(let message) = await session.queue.next() else { return nil }
        return message
    }

    static func kept(_ isPresent: Bool, _ count: Int, _ granted: UInt32?) -> DoctorFinding {
        guard isPresent || count > 0 else {
            return DoctorFinding(
                "session", .failed, "the broker forgets the session of a client that leaves",
                advice:
                    "commands to an agent that is away are lost: let the broker keep sessions, for a day or more"
            )
        }
        guard let granted, granted < 86_400 else {
            return DoctorFinding("session", .ok, "the broker keeps the session of a client that leaves")
        }
        return DoctorFinding(
            "session", .warning, "the broker keeps a session for \(granted) s, and an agent asks for a day",
            advice:
                "commands to an agent that is away for longer are lost: raise the broker's limit of session expiry"
        )
    }

    static func queue(_ count: Int, hasFirst: Bool) -> DoctorFinding {
        guard count < messages else {
            return DoctorFinding(
                "queue", .ok, "\(messages) messages waited for a client that was away, and all came")
        }
        return DoctorFinding(
            "queue", .warning,
            "of \(messages) messages for a client that was away \(count) came; the broker had acknowledged all, and "
                + "dropped the \(hasFirst ? "newest" : "oldest")",
            advice:
                "raise its limit: max_queued_messages (mosquitto), max_mqueue_len (EMQX), max-queue-size (HiveMQ)"
        )
    }
}
