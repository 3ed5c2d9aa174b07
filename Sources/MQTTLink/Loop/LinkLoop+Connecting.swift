import CMosquitto
import Glibc
import Threading

extension LinkLoop {
    /// Threads that may hang in the name server at a time; beyond, an attempt fails at once.
    private static let attemptLimit = 4

    func begin(_ next: LinkState.Attempt) {
        guard attemptsUnderWay < Self.attemptLimit else {
            perform(state.ended(.timedOut, at: now))
            return
        }
        let request = ConnectAttempt.Request(
            attempt: next, broker: configuration.brokers[next.broker],
            will: delegate?.linkWillConnect(next.version),
            configuration: configuration)
        isTLS = request.broker.transport == .tls
        hasDelayedWill = request.will?.retain == true && request.willDelay > 0
        let attempt = ConnectAttempt(request)
        self.attempt = attempt
        attemptsUnderWay += 1
        attempt.start(mailbox)
    }

    func attempted(_ number: Int, _ outcome: ConnectAttempt.Outcome) {
        attemptsUnderWay -= 1
        // One that was given up is of no interest; its handle goes with the outcome.
        guard case .connecting(let current, _) = state.phase, current.number == number else { return }
        attempt = nil
        switch outcome {
        case .abandoned: break
        case .failed(let cause, let stage):
            state.stage = stage
            perform(state.ended(cause, at: now))
        case .begun(let handle):
            state.stage = .connecting
            self.handle = handle
            if handle.proxy == nil { publishWithConnect(handle) }
        }
    }

    /// They stand behind the CONNECT in the library's queue.
    private func publishWithConnect(_ handle: ClientHandle) {
        for var message in delegate?.linkMessagesWithConnect() ?? [] {
            message.qos = .atMostOnce
            _ = handle.publish(message)
        }
    }

    /// Goes on through the proxy; nil once it is through.
    func passProxy(_ handle: ClientHandle) -> ReadOutcome? {
        if let cause = handle.readProxy() { return .refused(cause) }
        // What it said before it hung up is still there to read, and then its end.
        guard handle.proxy == nil else { return isHungUp ? nil : .fine }
        state.stage = handle.isSettingUpTLS ? .securing : .handshaking
        if handle.sink.hasBegunConnect { publishWithConnect(handle) }
        return nil
    }

    /// The non-blocking connect came to an end, good or bad.
    func socketOpened(_ socket: Int32) {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size)
        // A reset means that it was open: the library began its handshake in the connect, and the broker has
        // ended it since. What it said before that may still be there to read.
        guard code == 0 || code == ECONNRESET else {
            let cause = DisconnectReason.Cause.system(code)
            perform(state.ended(handle?.proxy.map { $0.unreachable(cause) } ?? cause, at: now))
            return
        }
        isHungUp = code == ECONNRESET
        isSocketOpen = true
        state.stage = handle?.isSettingUpTLS == true ? .securing : .handshaking
        // TLS speaks first, and may not have been able to before.
        mayHaveMore = isTLS
        // Until the CONNACK says otherwise; the connect deadline is shorter anyway.
        keepAlive = nil
    }

    /// Goes on with TLS; nil when it is set up.
    func setUpTLS(_ handle: ClientHandle) -> ReadOutcome? {
        let step = handle.setUpTLS()
        setupWantsWrite = false
        switch step {
        case .done:
            state.stage = .handshaking
            // The library has to see it, too: only then it writes its CONNECT.
            return ended(handle.read(), handle)
        case .failed(let cause): return .refused(cause)
        // What it waits for can't come any more.
        case .wantsRead where isHungUp, .wantsWrite where isHungUp: return .refused(.closedByBroker)
        case .wantsRead: return .fine
        case .wantsWrite:
            setupWantsWrite = true
            return .fine
        }
    }

    /// The broker's answer to the CONNECT.
    func signedIn(_ connack: CallbackSink.Connack) {
        guard let handle, case .connecting(let attempt, _) = state.phase else { return }
        handle.stopListeningToLog()
        handle.sink.logLines = []
        if hasDelayedWill, connack.features.forgetsDelayedRetainedWills {
            perform(state.willDelayFound(at: now))
            return
        }
        // The broker may set a shorter one. A longer one, or none (0), is its own business: we may ping when we like.
        let ours = Int(configuration.keepAliveSeconds)
        let theirs = connack.features.serverKeepAlive.map(Int.init) ?? 0
        let interval = Duration.seconds(theirs > 0 ? min(theirs, ours) : ours)
        connection = Connection(
            broker: configuration.brokers[attempt.broker], version: attempt.version, fellBack: state.fellBack,
            sessionPresent: connack.sessionPresent, receiveMaximum: max(connack.receiveMaximum ?? .max, 1),
            maximumPacketSize: connack.maximumPacketSize, keepAlive: interval,
            certificate: isTLS ? handle.certificate : nil)
        connection?.features = connack.features
        connection?.wasSilentOn5 = state.wasSilentOn5
        keepAlive = KeepAliveClock(interval: interval, at: now)
        let actions = state.accepted(sessionPresent: connack.sessionPresent, at: now)
        connection?.speaks311 = state.speaks311(at: now)
        perform(actions)
    }

    // MARK: Subscriptions

    func subscribeToAll() {
        begin(SubscribeRound(subscriptions), subscriptions, reply: nil)
    }

    /// Subscribes beyond what the configuration says; from now on it is made on every connect, too.
    func subscribe(_ wanted: [Subscription], _ reply: @escaping @Sendable ([SubscriptionResult]?) -> Void) {
        for subscription in wanted {
            subscriptions.removeAll { $0.filter == subscription.filter }
            subscriptions.append(subscription)
        }
        // What a session had waiting may come, and change what is wanted, before the connection's own are answered.
        guard state.isConnected else { return reply(nil) }
        begin(SubscribeRound(wanted), wanted, reply: reply)
    }

    /// Gives up filters, now and for later connects.
    func unsubscribe(_ filters: [String]) {
        subscriptions.removeAll { filters.contains($0.filter) }
        guard state.isConnected else { return }
        for filter in filters { handle?.unsubscribe(filter) }
    }

    private func begin(
        _ round: SubscribeRound, _ wanted: [Subscription],
        reply: (@Sendable ([SubscriptionResult]?) -> Void)?
    ) {
        var round = round
        for (place, subscription) in wanted.enumerated() {
            if let reason = Topic.fault(inFilter: subscription.filter) {
                round.settle(place, .invalid(TopicError(topic: subscription.filter, reason: reason)))
                continue
            }
            switch handle?.subscribe(subscription) {
            case .success(let id): round.sent(place, id: id)
            case .failure(let error) where !error.meansNoConnection:
                round.settle(place, .refused(ReasonCode(rawValue: 0x80)))
            // The connection ends: the broker has refused nothing, and what is wanted goes to the next one.
            case .failure, nil:
                reply?(nil)
                return
            }
        }
        rounds.append((round, now + configuration.subscribeTimeout, reply))
        finishRounds()
    }

    func subscriptionsAcknowledged(_ subacks: [(id: Int32, code: UInt8)]) {
        for suback in subacks {
            for index in rounds.indices
            where rounds[index].round.acknowledged(id: suback.id, code: suback.code) {
                break
            }
        }
        finishRounds()
    }

    private func finishRounds() {
        while let index = rounds.firstIndex(where: { $0.round.isAnswered }) {
            let done = rounds.remove(at: index)
            if let reply = done.reply {
                reply(done.round.answers)
            } else if state.isOnline {
                answeredAgain(done.round.answers)
            } else {
                connection?.subscriptions = done.round.answers
                refusedSubscriptions.answered(done.round.answers, at: now)
                perform(state.subscribed(hasRefused: done.round.answers.contains { !$0.isGranted }, at: now))
            }
        }
    }

    /// Tries again what the broker refused: its rules may have changed since.
    func subscribeAgain() {
        let wanted = refusedSubscriptions.take(at: now)
        if !wanted.isEmpty && state.isOnline { begin(SubscribeRound(wanted), wanted, reply: nil) }
    }

    private func answeredAgain(_ answers: [SubscriptionResult]) {
        guard var new = connection else { return }
        for answer in answers {
            let place = new.subscriptions.firstIndex { $0.subscription == answer.subscription }
            if let place { new.subscriptions[place] = answer }
        }
        let hasChanged = connection != new
        connection = new
        refusedSubscriptions.answered(new.subscriptions, at: now)
        if hasChanged { delegate?.linkDidSubscribe(new) }
    }

    /// Those of a connect have the state machine's deadline; for later ones the answer is that none came.
    func checkSubscribeDeadlines() {
        guard !rounds.isEmpty, state.isOnline else { return }
        let time = now
        while let index = rounds.firstIndex(where: { $0.deadline <= time }) {
            let round = rounds.remove(at: index)
            round.reply?(nil)
            // What was tried again and is not answered stays refused.
            if round.reply == nil, let connection {
                refusedSubscriptions.answered(connection.subscriptions, at: time)
            }
        }
    }

    // MARK: The preferred broker

    /// Finds out whether something listens there, without leaving the broker that is connected.
    func probe(_ broker: Int) {
        let (broker, limit) = (configuration.brokers[broker], configuration.connectTimeout)
        let failure = PlainThread.start(name: "mqtt-probe") { [mailbox] in
            mailbox.post(.probed(SocketProbe.isThere(broker, within: limit)))
        }
        if failure != nil { mailbox.post(.probed(false)) }
    }

    // MARK: The end

    /// Works out why the connection ended, and says so to the state machine.
    func connectionEnded(_ step: ClientHandle.Step) {
        guard let handle else { return }
        perform(state.ended(Self.cause(step, handle), at: now))
    }

    static func cause(_ step: ClientHandle.Step, _ handle: ClientHandle) -> DisconnectReason.Cause {
        let sink = handle.sink
        if let connack = sink.connack, connack.code != 0 {
            let code =
                handle.version == .v5
                ? ReasonCode(rawValue: connack.code) : ReasonCode(connackReturnCode: connack.code)
            return .refused(code, detail: connack.detail)
        }
        if let end = sink.endCode, handle.version == .v5 {
            // Below 0x80 these are the library's own errors, except 0: a broker's normal goodbye.
            if end == Int32(ReasonCode.sessionTakenOver.rawValue) { return .sessionTakenOver }
            if end >= 0x80 || (end == 0 && step.isFine) {
                return .serverDisconnect(ReasonCode(rawValue: UInt8(truncatingIfNeeded: end)))
            }
        }
        let code = step.isFine ? sink.endCode ?? step.code : step.code
        return .of(
            code: code, systemCode: step.systemCode, logLines: sink.logLines,
            certificateProblem: sink.certificateProblem)
    }
}
