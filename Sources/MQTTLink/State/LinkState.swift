import Threading

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
        /// So many sessions in a row that were taken after a moment, before a second client is suspected.
        var conflictThreshold = 5
        /// A session that ends before this was short.
        var shortSession: Duration = .seconds(10)
        /// How long a broker is left alone that asked for it.
        var stayAway: (Duration, Duration) = (.seconds(120), .seconds(300))
        /// How long the session is left to a second client, at least; at most twice as long.
        ///
        /// With a shared id each side takes the session from the other. Pauses that differ end that: the side with the
        /// longer session connects again at once and keeps it, and the other one is back soon after that one has gone.
        var conflictPause = Backoff(first: .seconds(5), longest: .seconds(30))
        /// How long a broker that refused 5 is spoken to with 3.1.1 only: it may be a newer one by then.
        var versionMemory: Duration = .seconds(86_400)
        /// What is known of brokers that do not speak 5, by their place.
        var speaks311: [Int: VersionMemory] = [:]
        /// Whether the first broker must be gone back to, and how soon.
        var prefersFirst = false
        var returnAfter: Duration = .seconds(600)
    }

    /// One try: which broker, spoken to how.
    struct Attempt: Sendable, Hashable {
        var number: Int
        var broker: Int
        var version: MQTTVersion
        /// Which of the broker's addresses, counted over its failures.
        var addressTurn: Int
        /// Whether its will may be delayed; see ``BrokerFeatures/forgetsDelayedRetainedWills``.
        var delaysWill = true
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
        /// Find out whether something listens there, and say so with `probed`.
        case probe(broker: Int)
        /// Forget the connection or the attempt; what is in flight is lost.
        case close
        /// Tell the delegate.
        case report(DisconnectReason)
        /// Tell the delegate that it is as before, and when the next try is.
        case repeated(DisconnectReason)
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
    /// Attempts and sessions in a row that failed, over all brokers: as many as there are brokers make a round.
    private var failures = 0
    private var broker = 0
    private var brokers: [BrokerMemory]
    /// When to see whether the preferred broker is there again; only while online at another.
    private var returnDue: Instant?
    private var returnDelay: Duration
    /// The broker that was left for the preferred one.
    private var leftBroker: Int?

    init(_ settings: Settings, random: any RandomNumberGenerator & Sendable = Chance()) {
        precondition(!settings.brokers.isEmpty, "a link needs a broker")
        self.settings = settings
        self.random = random
        returnDelay = settings.returnAfter
        brokers = Array(repeating: BrokerMemory(), count: settings.brokers.count)
    }

    // MARK: What can be asked

    var isOnline: Bool { if case .online = phase { true } else { false } }
    /// Whether the broker takes subscriptions: it has accepted the connection, which it may not be in use for yet.
    var isConnected: Bool { if case .subscribing = phase { true } else { isOnline } }
    var isStopped: Bool { phase == .stopped }

    /// When `timePassed` wants to be called.
    var deadline: Instant? {
        switch phase {
        case .connecting(_, let until), .subscribing(_, _, let until), .waiting(let until),
            .leaving(let until):
            until
        case .online: returnDue
        case .new, .stopped: nil
        }
    }

    /// Whether the present attempt speaks 3.1.1 because 5 did not work.
    var fellBack: Bool { settings.version == .automatic && currentVersion == .v311 }

    /// Whether the broker answered 5 with silence, rather than with a refusal.
    var wasSilentOn5: Bool {
        guard fellBack, let attempt = currentAttempt else { return false }
        return brokers[attempt.broker].maySpeak311 || brokers[attempt.broker].wasSilentOn5
    }

    /// For how long the broker of the present attempt is spoken to with 3.1.1; nil when that is not remembered.
    func speaks311(at now: Instant) -> VersionMemory? {
        guard fellBack, let memory = currentAttempt.map({ brokers[$0.broker] }),
            let end = memory.speaks311Until
        else { return nil }
        return VersionMemory(left: now.duration(to: end), wasSilent: memory.wasSilentOn5)
    }

    private var currentVersion: MQTTVersion? { currentAttempt?.version }

    private var currentAttempt: Attempt? {
        switch phase {
        case .connecting(let attempt, _), .subscribing(let attempt, _, _), .online(let attempt, _): attempt
        case .new, .waiting, .leaving, .stopped: nil
        }
    }

    /// Whether each broker that is meant is one of the list, and attempts are counted.
    private var isConsistent: Bool {
        [broker, leftBroker, currentAttempt?.broker].allSatisfy { $0.map(brokers.indices.contains) ?? true }
            && attempts >= currentAttempt?.number ?? 0 && failures >= 0 && (phase != .new || attempts == 0)
    }

    // MARK: What happened

    mutating func started(at now: Instant) -> [Action] {
        defer { assert(isConsistent) }
        precondition(phase == .new, "started twice")
        for (index, memory) in settings.speaks311 where brokers.indices.contains(index) {
            brokers[index].speaks311Until = now + min(memory.left, settings.versionMemory)
            brokers[index].wasSilentOn5 = memory.wasSilent
        }
        return attempt(at: now)
    }

    /// The CONNACK came, and it was a yes.
    mutating func accepted(sessionPresent: Bool = false, at now: Instant) -> [Action] {
        defer { assert(isConsistent) }
        guard case .connecting(let attempt, _) = phase else { return [] }
        var memory = brokers[attempt.broker]
        memory.knewSession = sessionPresent
        memory.hasRefusedSubscription = false
        if attempt.version == .v5 {
            memory.hasSpoken5 = true
            (memory.speaks311Until, memory.wasSilentOn5) = (nil, false)
        } else if memory.maySpeak311 {
            // 5 was not refused. Where it has worked before, the broker may have been about to restart.
            let time = memory.hasSpoken5 ? settings.versionMemory / 24 : settings.versionMemory
            (memory.speaks311Until, memory.wasSilentOn5) = (now + time, true)
        }
        memory.maySpeak311 = false
        brokers[attempt.broker] = memory
        phase = .subscribing(attempt, since: now, until: now + settings.subscribeTimeout)
        stage = .subscribing
        return [.subscribe]
    }

    /// The broker that has just accepted us keeps no retained will that is delayed: it is asked again, without a delay.
    mutating func willDelayFound(at now: Instant) -> [Action] {
        defer { assert(isConsistent) }
        guard case .connecting(let attempt, _) = phase, attempt.delaysWill else { return [] }
        brokers[attempt.broker].forgetsDelayedWills = true
        return [.close] + self.attempt(at: now)
    }

    /// Messages came and were taken: a broker answers a SUBSCRIBE only behind what it kept for the session, and that
    /// can take longer than an answer may; but not sixty times as long.
    mutating func messagesTaken(at now: Instant) {
        defer { assert(isConsistent) }
        guard case .subscribing(let attempt, let since, let until) = phase else { return }
        let limit = settings.subscribeTimeout
        phase = .subscribing(attempt, since: since, until: max(until, min(now + limit, since + limit * 60)))
    }

    /// All SUBACKs came, whatever they say.
    mutating func subscribed(hasRefused: Bool = false, at now: Instant) -> [Action] {
        defer { assert(isConsistent) }
        guard case .subscribing(let attempt, let since, _) = phase else { return [] }
        brokers[attempt.broker].hasRefusedSubscription = hasRefused
        phase = .online(attempt, since: since)
        stage = .online
        for index in brokers.indices { brokers[index].reported = nil }
        leftBroker = nil
        if attempt.broker == 0 { returnDelay = settings.returnAfter }
        returnDue = settings.prefersFirst && attempt.broker != 0 ? now + returnDelay : nil
        return [.announce]
    }

    /// The connection, or the attempt to make one, is over.
    mutating func ended(_ cause: Cause, at now: Instant) -> [Action] {
        defer { assert(isConsistent) }
        switch phase {
        case .new, .waiting, .stopped: return []
        case .leaving:
            phase = .stopped
            return [.close, .finish]
        case .connecting(let attempt, _), .subscribing(let attempt, _, _):
            // A connection that never was of use is a failed attempt, and no lost session.
            return failed(attempt, cause, at: now)
        case .online(let attempt, let since):
            return lost(attempt, since: since, cause, at: now)
        }
    }

    mutating func timePassed(at now: Instant) -> [Action] {
        defer { assert(isConsistent) }
        guard let deadline, now >= deadline else { return [] }
        switch phase {
        case .connecting, .subscribing: return ended(.timedOut, at: now)
        case .waiting: return attempt(at: now)
        case .leaving:
            phase = .stopped
            return [.close, .finish]
        case .online:
            returnDue = nil
            return [.probe(broker: 0)]
        case .new, .stopped: return []
        }
    }

    /// Whether something listens at the preferred broker; the one that is connected is left for it.
    mutating func probed(isThere: Bool, at now: Instant) -> [Action] {
        defer { assert(isConsistent) }
        guard case .online(let old, _) = phase, old.broker != 0, settings.prefersFirst else { return [] }
        guard isThere, brokers[0].notBefore.map({ $0 <= now }) ?? true else {
            returnDue = now + returnDelay
            return []
        }
        leftBroker = old.broker
        broker = 0
        let reason = reason(old, .returning, retryIn: .zero)
        return [.close, .report(reason)] + attempt(at: now)
    }

    /// Credentials or certificates are others now: whatever there is of a connection is made again, at once.
    mutating func renewed(at now: Instant) -> [Action] {
        defer { assert(isConsistent) }
        switch phase {
        case .new, .leaving, .stopped: return []
        case .waiting, .connecting: return [.close] + attempt(at: now)
        case .subscribing(let old, _, _), .online(let old, _):
            let reason = reason(old, .renewing, retryIn: .zero)
            return [.close, .report(reason)] + attempt(at: now)
        }
    }

    mutating func stopRequested(at now: Instant, within limit: Duration) -> [Action] {
        defer { assert(isConsistent) }
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
        defer { assert(isConsistent) }
        return if case .leaving = phase { [.disconnect] } else { [] }
    }

    // MARK: How it goes on

    private mutating func attempt(at now: Instant) -> [Action] {
        attempts += 1
        let memory = brokers[broker]
        let version: MQTTVersion =
            switch settings.version {
            case .v5: .v5
            case .v311: .v311
            case .automatic:
                memory.maySpeak311 || memory.speaks311Until.map({ now < $0 }) ?? false ? .v311 : .v5
            }
        let attempt = Attempt(
            number: attempts, broker: broker, version: version, addressTurn: memory.addressTurn,
            delaysWill: !memory.forgetsDelayedWills)
        phase = .connecting(attempt, until: now + settings.connectTimeout)
        stage = .resolving
        return [.connect(attempt)]
    }

    private mutating func failed(_ attempt: Attempt, _ cause: Cause, at now: Instant) -> [Action] {
        if fallsBack(attempt, cause, at: now) { return [.close] + self.attempt(at: now) }
        // A broker that 3.1.1 does not reach any more may be another one by now.
        if attempt.version == .v311, stage == .handshaking, cause.mayMeanOtherVersion {
            brokers[attempt.broker].speaks311Until = nil
        }
        brokers[attempt.broker].maySpeak311 = false
        brokers[attempt.broker].addressTurn &+= 1
        brokers[attempt.broker].takenSessions = 0
        failures += 1
        guard settings.reconnect.isOn else {
            guard failures < brokers.count else { return finish(attempt, cause) }
            broker = (attempt.broker + 1) % brokers.count
            return [.close] + self.attempt(at: now)
        }
        var delay = Duration.zero
        if let leftBroker {
            // The other one was good a moment ago.
            broker = leftBroker
            self.leftBroker = nil
            returnDelay = min(returnDelay * 2, settings.returnAfter * 16)
            phase = .waiting(until: now)
        } else {
            keepAway(from: attempt.broker, after: cause, at: now)
            delay = wait(beginningAt: attempt.broker + 1, at: now)
        }
        let reason = reason(attempt, cause, retryIn: delay)
        guard brokers[attempt.broker].isNews(cause, at: now) else { return [.close, .repeated(reason)] }
        brokers[attempt.broker].reported = (cause, now)
        if cause.asksToStayAway { brokers[attempt.broker].reportedRequest = cause }
        return [.close, .report(reason)]
    }

    /// Whether 5 may have been the problem: then it is 3.1.1's turn at once, and nothing has failed yet.
    private mutating func fallsBack(_ attempt: Attempt, _ cause: Cause, at now: Instant) -> Bool {
        guard settings.version == .automatic, attempt.version == .v5 else { return false }
        if case .refused(.unsupportedProtocolVersion, _) = cause {
            brokers[attempt.broker].speaks311Until = now + settings.versionMemory
            return true
        }
        // An old broker may close, or send garbage, on a CONNECT that it cannot read.
        guard stage == .handshaking && cause.mayMeanOldBroker else { return false }
        brokers[attempt.broker].maySpeak311 = true
        return true
    }

    private mutating func lost(_ attempt: Attempt, since: Instant, _ found: Cause, at now: Instant)
        -> [Action]
    {
        var cause = found
        let lifetime = now - since
        let isShort = lifetime < settings.shortSession
        if lifetime >= settings.reconnect.stableAfter {
            failures = 0
            brokers[attempt.broker].reportedRequest = nil
            brokers[attempt.broker].conflictReported = nil
        }
        failures += 1
        guard settings.reconnect.isOn else { return finish(attempt, cause) }
        let memory = brokers[attempt.broker]
        // It ended because of what it had refused, so that the subscriptions are as far as it had come.
        if isShort, cause == .closedByBroker, memory.hasRefusedSubscription { stage = .subscribing }
        let taken = isShort && memory.looksTaken(cause) ? memory.takenSessions + 1 : 0
        brokers[attempt.broker].takenSessions = taken
        if taken >= settings.conflictThreshold { cause = .clientIDConflict(shortSessions: taken) }
        keepAway(from: attempt.broker, after: cause, at: now)
        // After a good session the same broker comes first: it was there a moment ago.
        let mayStay = !isShort && !cause.meansAnotherBroker
        let next = !mayStay ? attempt.broker + 1 : settings.prefersFirst ? 0 : attempt.broker
        let delay = wait(beginningAt: next, at: now)
        var reason = reason(attempt, cause, retryIn: delay)
        if cause.asksToStayAway {
            reason.isRepeated = brokers[attempt.broker].reportedRequest == cause
            brokers[attempt.broker].reportedRequest = cause
        } else if case .clientIDConflict = cause {
            reason.isRepeated = brokers[attempt.broker].isConflictKnown(at: now)
            if !reason.isRepeated { brokers[attempt.broker].conflictReported = now }
        }
        return [.close, .report(reason)]
    }

    /// Leaves a broker alone when it asked for that, or when a second client has the session.
    private mutating func keepAway(from index: Int, after cause: Cause, at now: Instant) {
        let pause: (Duration, Duration)
        if case .clientIDConflict(let taken) = cause {
            let least = settings.conflictPause.ceiling(afterRounds: taken - settings.conflictThreshold)
            pause = (least, least * 2)
        } else if cause.asksToStayAway {
            pause = settings.stayAway
        } else {
            return
        }
        brokers[index].notBefore = now + Backoff.uniform(pause.0, pause.1, random: &random)
    }

    /// Waits for the next attempt, and returns for how long.
    ///
    /// Within a round of the list the pause only spreads the clients of a broker that went; after the round it grows.
    private mutating func wait(beginningAt next: Int, at now: Instant) -> Duration {
        let order = brokers.indices.map { (next + $0) % brokers.count }
        let times = order.map { ($0, brokers[$0].notBefore ?? now) }
        let free = times.first { $0.1 <= now } ?? times.min { $0.1 < $1.1 } ?? (0, now)
        broker = free.0
        let isRoundOver = failures % brokers.count == 0
        let backoff = Backoff(first: settings.reconnect.first, longest: settings.reconnect.longest)
            .delay(afterRounds: isRoundOver ? failures / brokers.count - 1 : 0, random: &random)
        let delay = max(backoff, free.1 - now)
        phase = .waiting(until: now + delay)
        return delay
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
