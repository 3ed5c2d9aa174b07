import CMosquitto
import Glibc

extension LinkLoop {
    /// The most bytes that one turn reads past the library: the loop has other work as well.
    private static let takenPerTurn = 1 << 20

    enum ReadOutcome {
        case fine
        case ended(ClientHandle.Step)
        /// What comes next is not read.
        case refused(DisconnectReason.Cause)
    }

    /// Reads packets, each after a look at its header, until there is none or the batch is full.
    func readPackets(_ handle: ClientHandle, _ sink: CallbackSink) -> ReadOutcome {
        var bytes = 0
        while true {
            if sink.messages.count >= configuration.batchLimit || bytes >= configuration.batchByteLimit {
                mayHaveMore = true
                return .fine
            }
            if skipping != nil {
                if let outcome = readTaken(handle) { return outcome }
                continue
            }
            guard let packet = frames.next else {
                if let outcome = look(handle) { return outcome }
                continue
            }
            if !frames.isReading, isSilent(packet) {
                frames.removeNext()
                skipping = SkippedPacket()
                continue
            }
            let before = sink.progress
            sink.isDuplicate = packet.isDuplicate
            let step = handle.read()
            bytes += frames.read(reported: sink.progress - before)
            takeSettled(sink)
            if !step.isFine || handle.socket < 0 { return .ended(step) }
            if sink.progress == before { return .fine }
        }
    }

    /// Whether the library would read the packet without a callback, and go on to one whose header was not seen.
    private func isSilent(_ packet: FrameGuard.Packet) -> Bool {
        packet.type == FrameGuard.pingResponse || packet.acknowledges.map { !inFlight.awaits($0) } ?? false
    }

    /// Looks at the next headers; nil when there is something to do, else what the reading comes to.
    private func look(_ handle: ClientHandle) -> ReadOutcome? {
        if handle.proxy != nil { return passProxy(handle) }
        if handle.isSettingUpTLS { return setUpTLS(handle) }
        return peekBuffer.bytes.withUnsafeMutableBytes { buffer in
            switch handle.peek(into: buffer) {
            case .over: return outcome(of: handle.read(), handle)
            case .wouldBlock: return isHungUp ? outcome(of: handle.read(), handle) : .fine
            case .bytes(let count): return found(UnsafeRawBufferPointer(rebasing: buffer[..<count]), handle)
            }
        }
    }

    private func found(_ bytes: UnsafeRawBufferPointer, _ handle: ClientHandle) -> ReadOutcome? {
        switch frames.saw(bytes) {
        case .admitted: return giveHeld(handle)
        case .incomplete: return isTLS ? cutHeader(bytes, handle) : hold(bytes, handle)
        case .tooLarge(let size):
            guard !frames.isInHeader else {
                return .refused(.packetTooLarge(bytes: size, limit: configuration.packetLimit))
            }
            skipping = SkippedPacket(beginning: frames.takeHeld())
            return nil
        case .malformed(let text): return .refused(.protocolViolation(text))
        }
    }

    /// Takes a piece of a header from the socket.
    ///
    /// It must not wait there for the rest: a socket's buffer stays charged with all that came in one segment with it,
    /// 64 KiB on loopback, and may then be too full to let the broker send any more.
    private func hold(_ bytes: UnsafeRawBufferPointer, _ handle: ClientHandle) -> ReadOutcome? {
        guard case .bytes(bytes.count) = handle.receive(into: UnsafeMutableRawBufferPointer(mutating: bytes))
        else { return .refused(.closedByBroker) }
        frames.hold(bytes)
        return nil
    }

    /// The header is complete: what was held of it goes before the rest.
    private func giveHeld(_ handle: ClientHandle) -> ReadOutcome? {
        let held = frames.takeHeld()
        guard !held.isEmpty, let packet = frames.next else { return nil }
        guard isSilent(packet) else { return ended(handle.read(received: held), handle) }
        frames.removeNext()
        skipping = SkippedPacket(beginning: held)
        return nil
    }

    /// A header ends in another TLS record, where no look reaches before this one is read.
    private func cutHeader(_ bytes: UnsafeRawBufferPointer, _ handle: ClientHandle) -> ReadOutcome? {
        let type = bytes[0] >> 4
        if !frames.isInHeader, type == FrameGuard.pingResponse || type == FrameGuard.acknowledgement {
            skipping = SkippedPacket()
            return nil
        }
        frames.beganHeader(bytes)
        return ended(handle.readDecrypted(), handle)
    }

    private func outcome(of step: ClientHandle.Step, _ handle: ClientHandle) -> ReadOutcome {
        ended(step, handle) ?? .fine
    }

    /// The end of the connection, if the library has found it.
    func ended(_ step: ClientHandle.Step, _ handle: ClientHandle) -> ReadOutcome? {
        step.isFine && handle.socket >= 0 ? nil : .ended(step)
    }

    // MARK: Past the library

    /// Reads what there is of a packet that the library is not to see; nil when it is through.
    private func readTaken(_ handle: ClientHandle) -> ReadOutcome? {
        var left = Self.takenPerTurn
        while let wanted = skipping?.wanted, wanted > 0 {
            guard left > 0 else {
                mayHaveMore = true
                return .fine
            }
            let transfer = peekBuffer.bytes.withUnsafeMutableBytes { buffer in
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(wanted, buffer.count)])
                let transfer = handle.receive(into: part)
                if case .bytes(let count) = transfer {
                    skipping?.read(UnsafeRawBufferPointer(rebasing: part[..<count]))
                    left -= count
                }
                return transfer
            }
            switch transfer {
            case .bytes: continue
            case .wouldBlock: return .fine
            // Not by the library: it would take what may still come for the beginning of a packet.
            case .over: return .refused(.closedByBroker)
            }
        }
        defer { skipping = nil }
        switch skipping?.content {
        case .message(let topic, let id, let bytes):
            skipped.append(
                SkippedMessage(
                    topic: topic, bytes: bytes, limit: configuration.packetLimit,
                    qos: id == 0 ? .atMostOnce : .atLeastOnce))
            if id != 0 {
                ownBytes += [
                    FrameGuard.acknowledgement << 4, 2, UInt8(id >> 8), UInt8(truncatingIfNeeded: id),
                ]
            }
            // The acknowledgements of what came before leave first: this turn reads no more.
            mayHaveMore = true
            return .fine
        case .acknowledgement(let id, let reason): settled(id, reason)
        case .malformed(let text): return .refused(.protocolViolation(text))
        case .pingResponse, nil: break
        }
        return nil
    }
}
