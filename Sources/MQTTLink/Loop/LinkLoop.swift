import CMosquitto
import Glibc
import Threading

/// The link's thread: polls, reads a batch, has it stored, lets the acknowledgements go, publishes.
///
/// All decisions on connecting are `LinkState`'s; this does what it says. It lives on one thread at a time, and nothing
/// of it is seen by another.
final class LinkLoop {
    typealias Instant = ContinuousClock.Instant

    static let threadName = "mqtt-link"

    private(set) var configuration: MQTTLinkConfiguration
    let mailbox: Mailbox
    weak var delegate: (any MQTTLinkDelegate)?
    var state: LinkState

    var handle: ClientHandle?
    /// TCP is through; before that only writability is of interest.
    var isSocketOpen = false
    var isTLS = false
    /// TLS is being set up and has something to write that the socket does not take yet.
    var setupWantsWrite = false
    /// A cap has left something behind, which may be inside OpenSSL where poll does not see it.
    var mayHaveMore = false
    var frames: FrameGuard
    /// What is read past the library at the moment.
    var skipping: SkippedPacket?
    var skipped: [SkippedMessage] = []
    /// What is written past the library: pings, and acknowledgements of what it has not seen.
    var ownBytes: [UInt8] = []
    /// Some of them are written, and the library has to wait until the others are.
    var isWritingOwnBytes = false
    let peekBuffer: PeekBuffer
    /// The peer has closed its side, or the connection is broken.
    var isHungUp = false
    var attempt: ConnectAttempt?
    /// The will of the attempt waits for a while before it is published, and is to be kept.
    var hasDelayedWill = false
    var attemptsUnderWay = 0
    var connection: Connection?
    var keepAlive: KeepAliveClock?

    /// Made on every connect.
    var subscriptions: [Subscription]
    var refusedSubscriptions: RefusedSubscriptions
    var rounds:
        [(round: SubscribeRound, deadline: Instant, reply: (@Sendable ([SubscriptionResult]?) -> Void)?)] = []
    /// Of rounds that ended with their connection.
    private var lostReplies: [@Sendable ([SubscriptionResult]?) -> Void] = []

    var inFlight = InFlight()
    var receipts: [PublishReceipt] = []
    var goodbyes: [MQTTMessage] = []
    var hasDisconnected = false
    var isFinished = false
    /// The loop goes on on another thread: what one has freed it keeps for itself until it ends.
    private var wantsNewThread = false
    /// The delegate got a batch, and was not lent the thread yet.
    var hasDelivered = false
    /// What brought a batch whose acknowledgements it has not agreed to yet.
    var unacknowledged: ClientHandle?
    private let standIn = StandIn()
    /// The library had nothing left to write at the start of this turn.
    private var isBetweenPackets = false
    private let whenFinished: @Sendable () -> Void
    private let exclusive = ExclusiveThread()

    init(
        _ configuration: MQTTLinkConfiguration, _ mailbox: Mailbox, _ delegate: any MQTTLinkDelegate,
        _ peekBuffer: PeekBuffer = PeekBuffer(), whenFinished: @escaping @Sendable () -> Void
    ) {
        self.peekBuffer = peekBuffer
        self.configuration = configuration
        self.mailbox = mailbox
        self.delegate = delegate
        self.whenFinished = whenFinished
        subscriptions = configuration.subscriptions
        frames = FrameGuard(limit: configuration.packetLimit)
        refusedSubscriptions = RefusedSubscriptions(
            backoff: Backoff(
                first: configuration.resubscribe.first, longest: configuration.resubscribe.longest))
        var settings = LinkState.Settings(brokers: configuration.brokers)
        settings.version = configuration.proxy == nil ? configuration.protocolVersion : .v311
        for (index, broker) in configuration.brokers.enumerated() {
            settings.speaks311[index] = configuration.speaks311[broker]
        }
        settings.connectTimeout = configuration.connectTimeout
        settings.subscribeTimeout = configuration.subscribeTimeout
        settings.reconnect = configuration.reconnect
        settings.prefersFirst = configuration.prefersFirstBroker
        settings.returnAfter = configuration.returnAfter
        state = LinkState(settings)
    }

    var now: Instant { MonotonicTime.instant }

    func run() {
        begin()
        goOn()
    }

    /// Begins to connect; the turns follow.
    func begin() { perform(state.started(at: now)) }

    /// Turns until the link has ended, or its delegate has kept the thread.
    private func goOn() {
        while !isFinished {
            let isReadable = poll()
            guard turn(isReadable, lends: true), !switchThreadIfNeeded() else { return }
        }
        finish()
    }

    /// Settles what is left when the last turn is over.
    func finish() {
        answerLost()
        let last = mailbox.close()
        for case .subscribe(_, let reply) in last.commands { reply(nil) }
        settle(last)
        loseWaiting()
        flushReceipts()
        whenFinished()
    }

    /// One turn on a thread that other links use, too.
    func turnOnSharedThread(wasRung: Bool, _ socket: pollfd?) {
        _ = turn(woke(wasRung: wasRung, socket), lends: false)
        wantsNewThread = false
    }

    /// False when the delegate has kept the thread: then another is in the loop.
    private func turn(_ readable: Bool, lends: Bool) -> Bool {
        assert(exclusive.enter())
        isBetweenPackets = handle?.wantsWrite == false
        // The order is the point: read, have it stored, and only then write, with the replies that are there by then.
        if isSocketOpen {
            if readable { keepAlive?.heard(at: now) }
            if readable || mayHaveMore { readBatch() }
        }
        // When the delegate keeps the thread, another is in here by then.
        assert(exclusive.leave())
        guard !lends || lend() else { return false }
        assert(exclusive.enter())
        defer { assert(exclusive.leave()) }
        hasDelivered = false
        askToAcknowledge()
        runCommands()
        if state.isOnline || isLeaving { publishWaiting() } else { loseWaiting() }
        if isSocketOpen { writeOut() }
        if isSocketOpen { checkKeepAlive() }
        if isSocketOpen { checkAcknowledgements() }
        checkSubscribeDeadlines()
        subscribeAgain()
        perform(state.timePassed(at: now))
        sayFarewell()
        flushReceipts()
        delegate?.linkTick()
        return true
    }

    /// Lends the thread to the delegate after a batch; false when it was kept.
    private func lend() -> Bool {
        guard hasDelivered else { return true }
        hasDelivered = false
        // Safe because the loan calls it behind its lock, and only once.
        nonisolated(unsafe) let loop = self
        let loan = ThreadLoan { loop.continueOnNewThread() }
        delegate?.link(lends: loan)
        return loan.end()
    }

    /// Lets a new thread take over when one is wanted; true when it has.
    private func switchThreadIfNeeded() -> Bool {
        guard wantsNewThread, !isFinished else { return false }
        wantsNewThread = false
        return continueOnNewThread()
    }

    /// Continues on a new thread; false when none could be started.
    private func continueOnNewThread() -> Bool {
        // Safe because the caller's thread leaves the loop untouched once the other has it.
        nonisolated(unsafe) let loop = self
        return PlainThread.start(name: Self.threadName) { loop.goOn() } == nil
    }

    /// Lets the acknowledgements go only if the delegate agrees; another thread may have read what they are for.
    private func askToAcknowledge() {
        guard let origin = unacknowledged else { return }
        unacknowledged = nil
        let decision = awaited { delegate?.linkWillAcknowledge() }
        if decision == .refuse, origin === handle { drop(.batchRefused) }
    }

    /// Calls the delegate for what may take its time; the connection is kept alive meanwhile.
    func awaited<Value>(_ body: () -> Value) -> Value {
        // Only between the library's packets: it may have written a part of one.
        guard let handle, let keepAlive, isBetweenPackets, ownBytes.isEmpty else { return body() }
        standIn.begin(for: handle, every: keepAlive.interval / 4)
        defer {
            ownBytes = standIn.end()
            isWritingOwnBytes = !ownBytes.isEmpty
        }
        return body()
    }

    var isLeaving: Bool { if case .leaving = state.phase { true } else { false } }

    // MARK: Actions

    func perform(_ actions: [LinkState.Action]) {
        for action in actions {
            switch action {
            case .connect(let attempt): begin(attempt)
            case .subscribe: subscribeToAll()
            case .announce: announce()
            case .probe(let broker): probe(broker)
            case .close: close()
            case .report(let reason):
                flushReceipts()
                delegate?.linkDidDisconnect(reason)
            case .repeated(let reason): delegate?.linkStillDisconnected(reason)
            case .sayGoodbye: mailbox.append(goodbyes: goodbyes)
            case .disconnect: disconnect()
            case .finish: isFinished = true
            }
        }
        answerLost()
    }

    /// Who waits for an answer that can't come any more learns it when why is known.
    private func answerLost() {
        let replies = lostReplies
        lostReplies = []
        for reply in replies { reply(nil) }
    }

    private func announce() {
        guard let connection else { return }
        flushReceipts()
        delegate?.linkDidConnect(connection)
    }

    private func close() {
        attempt?.abandon()
        attempt = nil
        handle = nil
        isSocketOpen = false
        setupWantsWrite = false
        isHungUp = false
        mayHaveMore = false
        frames = FrameGuard(limit: configuration.packetLimit)
        skipping = nil
        skipped = []
        (ownBytes, isWritingOwnBytes) = ([], false)
        refusedSubscriptions.connectionEnded()
        connection = nil
        keepAlive = nil
        for origin in inFlight.lostAll() { settle(origin, .lost) }
        loseWaiting()
        lostReplies += rounds.compactMap(\.reply)
        rounds = []
    }

    private func runCommands() {
        let orders = mailbox.takeOrders()
        settle(orders)
        for command in orders.commands {
            switch command {
            case .attempted(let number, let outcome): attempted(number, outcome)
            case .probed(let isThere): perform(state.probed(isThere: isThere, at: now))
            case .subscribe(let wanted, let reply): subscribe(wanted, reply)
            case .unsubscribe(let filters): unsubscribe(filters)
            case .renew(let credentials, let tls):
                configuration.credentials = credentials
                configuration.tls = tls
                // Without a DISCONNECT: should the new ones not do, the will says that we are gone.
                perform(state.renewed(at: now))
            case .releaseMemory:
                inFlight.releaseMemory()
                wantsNewThread = true
            case .stop(let messages, let limit):
                goodbyes = messages
                perform(state.stopRequested(at: now, within: limit))
            case .abandon:
                close()
                isFinished = true
            }
        }
    }

    private func settle(_ orders: Mailbox.Orders) {
        receipts += orders.overflowed.map { PublishReceipt(token: $0, result: .rejected(.overflow)) }
        receipts += orders.late.map { PublishReceipt(token: $0, result: .lost) }
    }

    // MARK: Sleep

    /// Sleeps until something comes or is due; whether the socket can be read, or has news of its end.
    private func poll() -> Bool {
        let (socket, limit) = prepareToSleep()
        var descriptors = [wakeDescriptor]
        if let socket { descriptors.append(socket) }
        let timeout = Self.milliseconds(limit)
        let count = Glibc.poll(&descriptors, nfds_t(descriptors.count), timeout)
        return woke(
            wasRung: count > 0 && descriptors[0].revents != 0,
            count > 0 && descriptors.count == 2 ? descriptors[1] : nil)
    }

    /// What wakes the loop when it has mail.
    var wakeDescriptor: pollfd {
        pollfd(fd: mailbox.wake.descriptor, events: Int16(POLLIN), revents: 0)
    }

    /// The socket with what it is waited for, nil when there is none, and how long to sleep at most.
    func prepareToSleep() -> (socket: pollfd?, limit: Duration) {
        var socket: pollfd?
        if let handle, handle.socket >= 0 {
            var events = isSocketOpen ? Int16(POLLIN) | Self.hangUp : Int16(POLLOUT)
            let wantsWrite =
                handle.isSettingUpTLS ? setupWantsWrite : handle.wantsWrite || !ownBytes.isEmpty
            if isSocketOpen && wantsWrite { events |= Int16(POLLOUT) }
            socket = pollfd(fd: handle.socket, events: events, revents: 0)
        }
        return (socket, mailbox.maySleep() ? timeout(at: now) : .zero)
    }

    /// It slept; whether the socket can be read, or has news of its end.
    private func woke(wasRung: Bool, _ socket: pollfd?) -> Bool {
        mailbox.awoke(wasRung: wasRung)
        guard let socket, socket.revents != 0 else { return false }
        if !isSocketOpen {
            socketOpened(socket.fd)
            return false
        }
        let found = socket.revents & ~Int16(POLLOUT)
        if found & (Self.hangUp | Int16(POLLHUP) | Int16(POLLERR)) != 0 { isHungUp = true }
        return found != 0 || handle?.isSettingUpTLS == true
    }

    /// POLLRDHUP, which the Glibc module shows only with its GNU extensions on.
    private static let hangUp: Int16 = 0x2000

    private func timeout(at now: Instant) -> Duration {
        var limit = configuration.tickInterval
        if mayHaveMore || unacknowledged != nil { return .zero }
        for deadline in [state.deadline, keepAlive?.due, acknowledgementDue, refusedSubscriptions.due]
            + rounds.map({ Optional($0.deadline) })
        {
            if let deadline { limit = min(limit, now.duration(to: deadline)) }
        }
        return max(limit, .zero)
    }

    /// What poll takes; rounded up: waking a moment early would only mean to sleep again.
    static func milliseconds(_ limit: Duration) -> Int32 {
        let (seconds, attoseconds) = limit.components
        guard limit > .zero else { return 0 }
        return Int32(min(seconds, 3_600)) * 1_000 + Int32(attoseconds / 1_000_000_000_000_000) + 1
    }
}
