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
        let progressBefore = sink.progress
        mayHaveMore = .no
        let outcome = readPackets(handle, sink)
        if isTLS && mayHaveMore == .no && sink.progress != progressBefore { mayHaveMore = .perhaps }
        keepAlive?.heard(at: now)
        let isOver = if case .ended = outcome { true } else { false }
        if let connack = sink.connack, connack.code == 0, connection == nil {
            // Accepted and ended in one read: nothing to subscribe to any more, but it counts as a session.
            if isOver { _ = state.accepted(at: now) } else { signedIn(connack) }
        }
        guard deliver(sink) else { return }
        takeSettled(sink)
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

    private enum ReadOutcome {
        case fine
        case ended(ClientHandle.Step)
        /// What comes next is not read.
        case refused(DisconnectReason.Cause)
    }

    private func readPackets(_ handle: ClientHandle, _ sink: CallbackSink) -> ReadOutcome {
        var quietReads = 0
        while true {
            if sink.messages.count >= configuration.batchLimit
                || sink.messageBytes >= configuration.batchByteLimit
            {
                mayHaveMore = .yes
                return .fine
            }
            if !isTLS {
                switch look(handle.socket) {
                case .read: break
                case .wait: return .fine
                case .refuse(let cause): return .refused(cause)
                }
            }
            let before = sink.progress
            let step = handle.read()
            if !step.isFine || handle.socket < 0 { return .ended(step) }
            let reported = sink.progress - before
            if isTLS {
                // A read that completes no packet met the end of what is there; but a PINGRESP has no callback,
                // and more may stand behind it in the same record.
                quietReads = reported == 0 ? quietReads + 1 : 0
                if quietReads == 2 { return .fine }
            } else if !frames.read(reported: reported) {
                return .fine
            }
        }
    }

    private enum Look {
        case read
        case wait
        case refuse(DisconnectReason.Cause)
    }

    /// Peeks at the next headers, unless those of the packets to read next are known already.
    private func look(_ socket: Int32) -> Look {
        // When the peer is gone nothing more will come than what is there, and the library must find the end.
        if !frames.mustLook || isHungUp { return .read }
        let limit = configuration.maximumPacketSize
        let (count, finding) = peekBuffer.withUnsafeMutableBytes { buffer in
            let count = recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_PEEK | MSG_DONTWAIT))
            guard count > 0 else { return (count, FrameGuard.Finding.incomplete(0)) }
            return (count, frames.saw(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
        }
        if count == 0 { return .read }
        if count < 0 { return errno == EAGAIN || errno == EINTR ? .wait : .read }
        switch finding {
        case .admitted:
            wakeFrom(1, socket)
            return .read
        case .incomplete(let present):
            // A piece of a header stays where it is, or the next look would begin in its middle.
            wakeFrom(present + 1, socket)
            return .wait
        case .tooLarge(let bytes): return .refuse(.packetTooLarge(bytes: bytes, limit: Int(limit)))
        case .malformed(let text): return .refuse(.protocolViolation(text))
        }
    }

    /// Has poll sleep until so many bytes wait in the socket.
    private func wakeFrom(_ count: Int, _ socket: Int32) {
        guard count != lowWaterMark else { return }
        lowWaterMark = count
        var value = Int32(count)
        setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Hands a batch on; false when the connection was dropped for it.
    private func deliver(_ sink: CallbackSink) -> Bool {
        if sink.sawExactlyOnce {
            drop(.protocolViolation("a message at QoS 2, which was not requested"))
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

    /// Hands libmosquitto as much as the window allows, in order.
    func publishWaiting() {
        guard let handle, let connection, !hasDisconnected else { return }
        let window = min(Int(connection.receiveMaximum), max(configuration.inFlightLimit, 1))
        let free = min(window - inFlight.unacknowledged, Self.unwrittenLimit - inFlight.unwritten)
        for waiting in mailbox.take(free) {
            if let reason = Topic.fault(inName: waiting.message.topic) {
                settle(
                    waiting.origin,
                    .rejected(.topic(TopicError(topic: waiting.message.topic, reason: reason))))
                continue
            }
            guard let size = waiting.message.packetSize(connection.version),
                size <= connection.maximumPacketSize.map(Int.init) ?? .max
            else {
                settle(waiting.origin, .rejected(.tooLarge))
                continue
            }
            switch handle.publish(waiting.message) {
            case .success(let id): inFlight.sent(id, waiting.origin, waiting.message.qos)
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
