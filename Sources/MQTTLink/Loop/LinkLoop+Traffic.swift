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
        var step = ClientHandle.Step(code: 0, systemCode: 0)
        var quietReads = 0
        mayHaveMore = .no
        let progressBefore = sink.progress
        while true {
            if sink.messages.count >= configuration.batchLimit
                || sink.messageBytes >= configuration.batchByteLimit
            {
                mayHaveMore = .yes
                break
            }
            let before = sink.progress
            step = handle.read()
            if !step.isFine || handle.socket < 0 { break }
            // A read that completes no packet met the end of what is there. With TLS one such read may have been
            // a PINGRESP, which has no callback, with more behind it in the same record.
            quietReads = sink.progress == before ? quietReads + 1 : 0
            if quietReads == (isTLS ? 2 : 1) { break }
        }
        if isTLS && mayHaveMore == .no && sink.progress != progressBefore { mayHaveMore = .perhaps }
        keepAlive?.heard(at: now)
        let isOver = !step.isFine || handle.socket < 0
        if let connack = sink.connack, connack.code == 0, connection == nil, !isOver { signedIn(connack) }
        guard deliver(sink) else { return }
        takeSettled(sink)
        if !sink.subacks.isEmpty {
            let subacks = sink.subacks
            sink.subacks = []
            subscriptionsAcknowledged(subacks)
        }
        if isOver { connectionEnded(step) }
    }

    /// Hands a batch on; false when the connection was dropped for it.
    private func deliver(_ sink: CallbackSink) -> Bool {
        if sink.sawExactlyOnce {
            drop(.protocolViolation("a message at QoS 2, which was not asked for"))
            return false
        }
        guard !sink.messages.isEmpty else { return true }
        let batch = sink.messages
        sink.messages = []
        sink.messageBytes = 0
        // Nothing is acknowledged before this returns: the PUBACKs leave in loop_write, and that comes later.
        if delegate?.link(received: batch) == .acknowledge { return true }
        drop(.batchRefused)
        return false
    }

    /// Ends the connection so that nothing that waits to be written leaves any more.
    private func drop(_ cause: DisconnectReason.Cause) {
        if let socket = handle?.socket, socket >= 0 { shutdown(socket, Int32(SHUT_RDWR)) }
        perform(state.ended(cause, at: now))
    }

    private func takeSettled(_ sink: CallbackSink) {
        guard !sink.settled.isEmpty else { return }
        for (id, code) in sink.settled {
            guard let origin = inFlight.settled(id) else { continue }
            let reason = ReasonCode(rawValue: code)
            settle(origin, reason.isFailure ? .refused(reason) : .acknowledged)
        }
        sink.settled.removeAll(keepingCapacity: true)
    }

    // MARK: Out

    /// Gives libmosquitto as much as the window allows, in order.
    func publishWaiting() {
        guard let handle, let connection, !hasDisconnected else { return }
        let window = min(Int(connection.receiveMaximum), max(configuration.inFlightLimit, 1))
        let room = min(window - inFlight.unacknowledged, Self.unwrittenLimit - inFlight.unwritten)
        for waiting in mailbox.take(room) {
            if let reason = Topic.fault(inName: waiting.message.topic) {
                settle(
                    waiting.origin,
                    .rejected(.topic(TopicError(topic: waiting.message.topic, reason: reason))))
                continue
            }
            switch handle.publish(waiting.message) {
            case .success(let id): inFlight.sent(id, waiting.origin, waiting.message.qos)
            case .failure(let error):
                settle(waiting.origin, error.meansNoConnection ? .lost : .rejected(error.rejection))
            }
        }
    }

    /// Offline nothing is kept here: whoever wants it sent later keeps it himself.
    func loseWaiting() {
        for waiting in mailbox.take(.max) { settle(waiting.origin, .lost) }
    }

    func writeOut() {
        guard let handle, handle.wantsWrite else { return }
        // Each PUBACK and each message is a write of its own; corked they leave together.
        let isCorked = !isTLS && handle.sink.acknowledgementsOwed + inFlight.unacknowledged > 2
        if isCorked { cork(handle.socket, true) }
        let step = handle.write()
        if isCorked && handle.socket >= 0 { cork(handle.socket, false) }
        handle.sink.acknowledgementsOwed = 0
        keepAlive?.sent(at: now)
        takeSettled(handle.sink)
        if !step.isFine || handle.socket < 0 { connectionEnded(step) }
    }

    private func cork(_ socket: Int32, _ isOn: Bool) {
        var flag: Int32 = isOn ? 1 : 0
        // On a socket in the file system this fails, and nothing is lost.
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_CORK, &flag, socklen_t(MemoryLayout<Int32>.size))
    }

    func checkKeepAlive() {
        let time = now
        guard let handle, let due = keepAlive?.due, time >= due else { return }
        keepAlive?.checked(at: time)
        let step = handle.keepAlive()
        if !step.isFine || handle.socket < 0 { connectionEnded(step) } else { writeOut() }
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
