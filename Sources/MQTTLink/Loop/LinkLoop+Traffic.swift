import CMosquitto
import Glibc

extension LinkLoop {
    /// At most once messages that the library may hold unwritten, so that a slow socket does not fill the memory.
    private static let unwrittenLimit = 1_000

    // MARK: In

    /// Reads until nothing comes or the batch is full, and has it kept before any PUBACK can leave.
    func readBatch() {
        guard let handle else { return }
        let sink = handle.sink
        mayHaveMore = false
        let outcome = readPackets(handle, sink)
        let isOver = if case .ended = outcome { true } else { false }
        if let connack = sink.connack, connack.code == 0, connection == nil {
            // Accepted and ended in one read: there is nothing to subscribe to any more.
            if isOver {
                _ = state.accepted(sessionPresent: connack.sessionPresent, at: now)
            } else {
                signedIn(connack)
            }
        }
        guard deliver(sink) else { return }
        if !sink.subacks.isEmpty {
            let subacks = sink.subacks
            sink.subacks = []
            subscriptionsAcknowledged(subacks)
        }
        switch outcome {
        case .fine: break
        case .ended(let step): connectionEnded(step)
        case .refused(let cause): drop(cause)
        }
    }

    /// Hands a batch on; false when the connection was dropped for it.
    private func deliver(_ sink: CallbackSink) -> Bool {
        if !sink.messages.isEmpty {
            let batch = sink.messages
            sink.messages = []
            (hasDelivered, unacknowledged) = (true, handle)
            // Nothing is acknowledged yet: the PUBACKs leave in loop_write, after the delegate was asked once more.
            guard awaited({ delegate?.link(received: batch) }) == .acknowledge else {
                drop(.batchRefused)
                return false
            }
            state.messagesTaken(at: now)
        }
        for message in skipped { delegate?.link(skipped: message) }
        skipped = []
        return true
    }

    /// Ends the connection so that nothing that waits to be written leaves any more.
    func drop(_ cause: DisconnectReason.Cause) {
        if let socket = handle?.socket, socket >= 0 { shutdown(socket, Int32(SHUT_RDWR)) }
        perform(state.ended(cause, at: now))
    }

    func takeSettled(_ sink: CallbackSink) {
        guard !sink.settled.isEmpty else { return }
        for (id, code) in sink.settled { settled(id, code) }
        sink.settled.removeAll(keepingCapacity: true)
    }

    /// A PUBACK came, or a message at most once was written.
    func settled(_ id: UInt16, _ code: UInt8) {
        guard let origin = inFlight.settled(id, at: now) else { return }
        let reason = ReasonCode(rawValue: code)
        settle(origin, reason.isFailure ? .refused(reason) : .acknowledged)
    }

    // MARK: Out

    /// Hands libmosquitto as much as the window allows, in order.
    func publishWaiting() {
        guard let handle, let connection, !hasDisconnected else { return }
        let window = min(Int(connection.receiveMaximum), max(configuration.inFlightLimit, 1))
        let free = min(window - inFlight.unacknowledged, Self.unwrittenLimit - inFlight.unwritten)
        // Most of a batch have the same topic.
        var checked: String?
        for waiting in mailbox.take(free) {
            var message = waiting.message
            if message.topic != checked, let reason = Topic.fault(inName: message.topic) {
                settle(waiting.origin, .rejected(.topic(TopicError(topic: message.topic, reason: reason))))
                continue
            }
            checked = message.topic
            if connection.version == .v5, let more = delegate?.link(propertiesFor: message), !more.isEmpty {
                let own = message.properties.user
                message.properties.user = own.isEmpty ? more : own + more
            }
            guard let size = message.packetSize(connection.version),
                size <= connection.maximumPacketSize.map(Int.init) ?? .max
            else {
                settle(waiting.origin, .rejected(.tooLarge))
                continue
            }
            switch handle.publish(message) {
            case .success(let id): inFlight.sent(id, waiting.origin, message.qos)
            case .failure(let error):
                settle(waiting.origin, error.meansNoConnection ? .lost : .rejected(error.sendError))
            }
        }
    }

    /// Nothing is kept here while offline: a caller that wants a message sent later keeps it.
    func loseWaiting() {
        for waiting in mailbox.take(.max) { settle(waiting.origin, .lost) }
    }

    func writeOut() {
        guard let handle, !handle.isSettingUpTLS else { return }
        if handle.wantsWrite && !isWritingOwnBytes {
            // Each PUBACK and each message is a write of its own; corked they leave together.
            let isCorked = !isTLS && handle.sink.acknowledgementsOwed + inFlight.unacknowledged > 2
            if isCorked { cork(handle.socket, true) }
            let step = handle.write()
            if isCorked && handle.socket >= 0 { cork(handle.socket, false) }
            handle.sink.acknowledgementsOwed = 0
            keepAlive?.sent(at: now)
            takeSettled(handle.sink)
            if !step.isFine || handle.socket < 0 { return connectionEnded(step) }
        }
        if inFlight.hasUnwritten, !handle.wantsWrite { inFlight.wroteAll(at: now) }
        // Between the library's packets only: it may have written a part of one.
        guard !ownBytes.isEmpty, isWritingOwnBytes || !handle.wantsWrite else { return }
        isWritingOwnBytes = true
        // After an error there is nothing to do here: the next read finds the end.
        if case .bytes(let count) = handle.send(ownBytes) {
            ownBytes.removeFirst(count)
            keepAlive?.sent(at: now)
        }
        isWritingOwnBytes = !ownBytes.isEmpty
    }

    private func cork(_ socket: Int32, _ isOn: Bool) {
        var flag: Int32 = isOn ? 1 : 0
        // On a socket in the file system this fails, and nothing is lost.
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_CORK, &flag, socklen_t(MemoryLayout<Int32>.size))
    }

    func checkKeepAlive() {
        let isBlocked = handle?.wantsWrite == true || !ownBytes.isEmpty
        switch keepAlive?.step(isBlocked: isBlocked, at: now) {
        case .ping:
            ownBytes += [FrameGuard.pingRequest << 4, 0]
            writeOut()
        case .broken: drop(.keepAlive)
        case nil: break
        }
    }

    /// When the connection is given up for a message that the broker does not acknowledge.
    var acknowledgementDue: Instant? {
        guard state.isOnline else { return nil }
        return inFlight.unansweredSince.map { $0 + configuration.acknowledgeWithin }
    }

    /// A place in the window that never becomes free again would be lost for good, and all of them in the end.
    func checkAcknowledgements() {
        guard let due = acknowledgementDue, now >= due else { return }
        drop(.unacknowledged(after: configuration.acknowledgeWithin))
    }

    // MARK: Receipts

    func settle(_ origin: InFlight.Origin, _ result: PublishReceipt.Result) {
        if case .caller(let token) = origin { receipts.append(PublishReceipt(token: token, result: result)) }
    }

    func flushReceipts() {
        guard !receipts.isEmpty else { return }
        let batch = receipts
        receipts = []
        delegate?.link(settled: batch)
    }

    // MARK: Goodbye

    /// When the goodbyes are through, the DISCONNECT follows; once.
    func sayFarewell() {
        guard isLeaving, !hasDisconnected, mailbox.isEmpty, inFlight.goodbyes == 0 else { return }
        perform(state.goodbyesSettled())
    }

    func disconnect() {
        hasDisconnected = true
        guard let handle, handle.disconnect() else {
            perform(state.ended(.stopped, at: now))
            return
        }
        writeOut()
    }
}
