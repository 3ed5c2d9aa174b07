/// What a link is doing and what it does next: a pure state machine.
///
/// The functions are named for what happened and return what to do. Time and chance come from outside, so that a
/// test can turn the clock and replay a seed.
struct LinkState: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias Cause = DisconnectReason.Cause

    struct Settings: Sendable {
        var brokers: [BrokerURL]
        var version: MQTTLinkConfiguration.ProtocolVersion = .automatic
        var connectTimeout: Duration = .seconds(10)
        var subscribeTimeout: Duration = .seconds(10)
        var reconnect = MQTTLinkConfiguration.Reconnect()
        /// So many sessions in a row that ended at once, before the id is suspected.
        var conflictThreshold = 5
        /// A session that ends before this was short.
        var shortSession: Duration = .seconds(10)
        /// With a shared id each side takes the session from the other; only a pause of minutes ends that.
        var conflictDelay: (Duration, Duration) = (.seconds(120), .seconds(300))
    }

    /// One try: which broker, spoken to how.
    struct Attempt: Sendable, Hashable {
        var number: Int
        var broker: Int
        var version: MQTTVersion
        /// Which of the broker's addresses, counted over its failures.
        var addressTurn: Int
    }

    enum Phase: Sendable, Equatable {
        case new
        case connecting(Attempt, until: Instant)
        case subscribing(Attempt, since: Instant, until: Instant)
        case online(Attempt, since: Instant)
        case waiting(until: Instant)
        case leaving(until: Instant)
        case stopped
    }

    enum Action: Sendable, Equatable {
        /// Make the attempt.
        case connect(Attempt)
        /// Send the SUBSCRIBEs.
        case subscribe
        /// Tell the delegate; messages may be published from here on.
        case announce
        /// Forget the connection or the attempt; what is in flight is lost.
        case close
        /// Tell the delegate.
        case report(DisconnectReason)
        /// Publish the goodbyes and wait for them.
        case sayGoodbye
        /// Send DISCONNECT, so that the will does not fire.
        case disconnect
        /// The thread may end.
        case finish
    }

    private(set) var phase = Phase.new
    /// How far the present attempt has come; the shell says so, for the report's sentence.
    var stage = DisconnectReason.Stage.resolving

    private let settings: Settings
    private var random: any RandomNumberGenerator & Sendable
    private var attempts = 0
    private var failures = 0
    private var shortSessions = 0
    private var broker = 0
    private var brokers: [BrokerMemory]

    /// What is known of one broker.
    private struct BrokerMemory: Sendable {
        /// 5 was refused, or 3.1.1 has worked where 5 was met with silence.
        var speaks311 = false
        /// 5 ended without a CONNACK: try 3.1.1 once.
        var maySpeak311 = false
        var addressTurn = 0
        var reported: Cause?
    }

    init(_ settings: Settings, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) {
        precondition(!settings.brokers.isEmpty, "a link needs a broker")
        self.settings = settings
        self.random = random
        brokers = Array(repeating: BrokerMemory(), count: settings.brokers.count)
    }

    // MARK: What can be asked

    var isOnline: Bool { if case .online = phase { true } else { false } }
    var isStopped: Bool { phase == .stopped }

    /// When `timePassed` wants to be called.
    var deadline: Instant? {
        switch phase {
        case .connecting(_, let until), .subscribing(_, _, let until), .waiting(let until),
            .leaving(let until):
            until
        case .new, .online, .stopped: nil
        }
    }

    /// Whether the present attempt speaks 3.1.1 because 5 did not work.
    var fellBack: Bool { settings.version == .automatic && currentVersion == .v311 }

    private var currentVersion: MQTTVersion? {
        switch phase {
        case .connecting(let attempt, _), .subscribing(let attempt, _, _), .online(let attempt, _):
            attempt.version
        case .new, .waiting, .leaving, .stopped: nil
        }
    }

    // MARK: What happened

    mutating func started(at now: Instant) -> [Action] {
        precondition(phase == .new, "started in \(phase)")
        return attempt(at: now)
    }

    /// The CONNACK came, and it was a yes.
    mutating func accepted(at now: Instant) -> [Action] {
        guard case .connecting(let attempt, _) = phase else { return [] }
        if attempt.version == .v311 { brokers[attempt.broker].speaks311 = true }
        brokers[attempt.broker].maySpeak311 = false
        phase = .subscribing(attempt, since: now, until: now + settings.subscribeTimeout)
        stage = .subscribing
        return [.subscribe]
    }

    /// All SUBACKs came, whatever they say.
    mutating func subscribed(at now: Instant) -> [Action] {
        guard case .subscribing(let attempt, let since, _) = phase else { return [] }
        phase = .online(attempt, since: since)
        stage = .online
        for index in brokers.indices { brokers[index].reported = nil }
        return [.announce]
    }

    /// The connection, or the attempt to make one, is over.
    mutating func ended(_ cause: Cause, at now: Instant) -> [Action] {
        switch phase {
        case .new, .waiting, .stopped: return []
        case .leaving:
            phase = .stopped
            return [.close, .finish]
        case .connecting(let attempt, _):
            return failed(attempt, cause, at: now)
        case .subscribing(let attempt, let since, _), .online(let attempt, let since):
            return lost(attempt, since: since, cause, at: now)
        }
    }

    mutating func timePassed(at now: Instant) -> [Action] {
        guard let deadline, now >= deadline else { return [] }
        switch phase {
        case .connecting, .subscribing: return ended(.timedOut, at: now)
        case .waiting: return attempt(at: now)
        case .leaving:
            phase = .stopped
            return [.close, .finish]
        case .new, .online, .stopped: return []
        }
    }

    /// Credentials or certificates are others now: whatever there is of a connection is made anew, at once.
    mutating func renewed(at now: Instant) -> [Action] {
        switch phase {
        case .new, .leaving, .stopped: return []
        case .waiting, .connecting: return [.close] + attempt(at: now)
        case .subscribing(let old, _, _), .online(let old, _):
            let reason = reason(old, .renewing, retryIn: .zero)
            return [.close, .report(reason)] + attempt(at: now)
        }
    }

    mutating func stopRequested(at now: Instant, within limit: Duration) -> [Action] {
        switch phase {
        case .online:
            phase = .leaving(until: now + limit)
            return [.sayGoodbye]
        case .subscribing:
            // Nothing was announced, so there is nothing to take back; but the will must not fire.
            phase = .leaving(until: now + limit)
            return [.disconnect]
        case .leaving, .stopped: return []
        case .new, .connecting, .waiting:
            phase = .stopped
            return [.close, .finish]
        }
    }

    /// The goodbyes are acknowledged, or never will be.
    mutating func goodbyesSettled() -> [Action] {
        if case .leaving = phase { [.disconnect] } else { [] }
    }

    // MARK: How it goes on

    private mutating func attempt(at now: Instant) -> [Action] {
        attempts += 1
        let memory = brokers[broker]
        let version: MQTTVersion =
            switch settings.version {
            case .v5: .v5
            case .v311: .v311
            case .automatic: memory.speaks311 || memory.maySpeak311 ? .v311 : .v5
            }
        let attempt = Attempt(
            number: attempts, broker: broker, version: version, addressTurn: memory.addressTurn)
        phase = .connecting(attempt, until: now + settings.connectTimeout)
        stage = .resolving
        return [.connect(attempt)]
    }

    private mutating func failed(_ attempt: Attempt, _ cause: Cause, at now: Instant) -> [Action] {
        brokers[attempt.broker].addressTurn += 1
        if settings.version == .automatic {
            if attempt.version == .v5, case .refused(.unsupportedProtocolVersion, _) = cause {
                // Not a failure: the broker answered at once, and said what to do.
                brokers[attempt.broker].speaks311 = true
                return [.close] + self.attempt(at: now)
            }
            // An old broker may close, or send garbage, on a CONNECT that it can not read.
            brokers[attempt.broker].maySpeak311 =
                attempt.version == .v5 && stage == .handshaking && cause.mayMeanOldBroker
        }
        failures += 1
        broker = (attempt.broker + 1) % brokers.count
        if !settings.reconnect.isOn {
            let again =
                failures < brokers.count || (brokers[broker].maySpeak311 && failures < 2 * brokers.count)
            if again { return [.close] + self.attempt(at: now) }
            return finish(attempt, cause)
        }
        let rounds = (failures - 1) / brokers.count
        let delay = Backoff(first: settings.reconnect.first, longest: settings.reconnect.longest)
            .delay(afterRounds: rounds, random: &random)
        phase = .waiting(until: now + delay)
        guard brokers[attempt.broker].reported != cause else { return [.close] }
        brokers[attempt.broker].reported = cause
        return [.close, .report(reason(attempt, cause, retryIn: delay))]
    }

    private mutating func lost(_ attempt: Attempt, since: Instant, _ found: Cause, at now: Instant)
        -> [Action]
    {
        var cause = found
        let lifetime = now - since
        if lifetime >= settings.reconnect.stableAfter { failures = 0 }
        if lifetime < settings.shortSession && cause.mayBeTakeover {
            shortSessions += 1
        } else {
            shortSessions = 0
        }
        failures += 1
        guard settings.reconnect.isOn else { return finish(attempt, cause) }
        let delay: Duration
        if shortSessions >= settings.conflictThreshold {
            cause = .clientIDConflict(shortSessions: shortSessions)
            delay = Backoff.uniform(settings.conflictDelay.0, settings.conflictDelay.1, random: &random)
        } else {
            // The same broker first: it was there a moment ago.
            delay = Backoff(first: settings.reconnect.first, longest: settings.reconnect.longest)
                .delay(afterRounds: (failures - 1) / brokers.count, random: &random)
        }
        let reason = reason(attempt, cause, retryIn: delay)
        phase = .waiting(until: now + delay)
        return [.close, .report(reason)]
    }

    private mutating func finish(_ attempt: Attempt, _ cause: Cause) -> [Action] {
        let reason = reason(attempt, cause, retryIn: nil)
        phase = .stopped
        return [.close, .report(reason), .finish]
    }

    private func reason(_ attempt: Attempt, _ cause: Cause, retryIn: Duration?) -> DisconnectReason {
        DisconnectReason(
            cause: cause, stage: stage, broker: settings.brokers[attempt.broker], version: attempt.version,
            retryIn: retryIn)
    }
}

extension DisconnectReason.Cause {
    /// What a broker that knows only 3.1.1 may do to a v5 CONNECT, besides refusing it properly.
    fileprivate var mayMeanOldBroker: Bool {
        switch self {
        case .closedByBroker, .protocolViolation: true
        case .network(let code, _): code == connectionReset
        default: false
        }
    }

    /// What it looks like when another client with our id comes: mosquitto just closes (rc 7), v5 may say so.
    fileprivate var mayBeTakeover: Bool {
        switch self {
        case .closedByBroker, .sessionTakenOver: true
        case .network(let code, _): code == connectionReset
        default: false
        }
    }
}
