import MQTTLink
import Threading
import Waypost
import WaypostMessages

extension Intake {
    /// Hands on the commands that are new; false when they have to be stored before, and can't be.
    func dispatch(_ commands: inout [ReceivedCommand], at now: Int64) -> Bool {
        defer { commands = [] }
        return commands.chunks(limits.commitEntries).allSatisfy {
            FaultPoint.beforeStore.reached()
            return dispatch($0, at: now)
        }
    }

    private func dispatch(_ commands: ArraySlice<ReceivedCommand>, at now: Int64) -> Bool {
        guard let found = try? ledger.look(up: commands, whenInFlight: connections.commitSent) else {
            return false
        }
        var new: [NewCommand] = []
        var repeated: [Int64] = []
        var isStoredFirst = store.disk.problem != nil
        for (command, finding) in zip(commands, found) {
            switch finding {
            case .new(let sequence):
                spans?.received(command, sequence)
                new.append(newCommand(command, sequence, at: now))
                isStoredFirst = isStoredFirst || command.isStoredFirst
            case .duplicate(let sequence, .some): repeated.append(sequence)
            default: break
            }
        }
        // What was answered before waits for the broker again, on disk too, before the reply goes out again.
        let hasToStore = !repeated.isEmpty || !new.isEmpty && (isStoredFirst || !connections.received(new))
        if hasToStore {
            do throws(StoreError) {
                try connections.commit(new, repeated)
            } catch {
                // The link is dropped for it, and that is logged with the reason.
                ledger.notCommitted(new.compactMap(\.sequence))
                spans?.forget(new.compactMap(\.sequence))
                return false
            }
            FaultPoint.afterStore.reached()
        }
        connections.dispatch(zip(commands, found).compactMap { job(of: $0, $1, at: now) })
        return true
    }

    /// Where its reply goes, with the agent's place in its trace, where there is a tracer.
    private func address(of command: ReceivedCommand, _ sequence: Int64) -> ReplyAddress {
        command.address.within(spans?.trace(of: sequence))
    }

    private func newCommand(_ command: ReceivedCommand, _ sequence: Int64, at now: Int64) -> NewCommand {
        NewCommand(
            sequence: sequence, topic: command.topic, id: command.id, digest: command.digest.bytes,
            payload: command.payload, correlation: command.address.correlation,
            trace: address(of: command, sequence).trace,
            received: now, expires: command.expires,
            keepUntil: max(now + Self.minimumRecognition, command.expires + Command.recognitionAfterExpiry),
            earlierStarts: command.earlierStarts, isScheduled: command.isScheduled)
    }

    /// The job of a command that is new; any other is answered here.
    private func job(of command: ReceivedCommand, _ finding: LedgerState.Finding, at now: Int64)
        -> CommandJob?
    {
        switch finding {
        case .new(let sequence): return job(of: command, sequence, at: now)
        case .duplicate(let sequence, let reply):
            // Without a reply there is one once the command has ended.
            state.withLock { $0.repeated() }
            reporter.log(.debug, "Intake", "repeated \(command.id); not run again", of: command.reference)
            if let reply { connections.repeatReply(sequence, reply, command.address) }
        case .conflict, .damaged, .rejected:
            finding.refusal(command.id).map { answer($0, to: command) }
        case .noSpace(let refusal):
            let audiences = [Audience.agent(agent)] + groups.audiences
            answer(ledger.failure(refusal, command.sender, sentTo: audiences), to: command)
        }
        return nil
    }

    /// The job of a command that is stored or will be.
    private func job(of received: ReceivedCommand, _ sequence: Int64, at now: Int64) -> CommandJob {
        let monotonic = clock.monotonic()
        let job = received.job(
            sequence, address: address(of: received, sequence), attempts: limits.attempts, at: now, monotonic)
        guard case .success(let header) = received.header else {
            state.withLock { $0.rejected() }
            return job
        }
        if let sequence = header.sequence {
            let last = state.withLock {
                $0.gap(before: sequence, of: received.sender, at: monotonic)
            }
            if let last {
                reporter.failed(
                    .sequenceGap, "seq of \(received.sender) went from \(last) to \(sequence)", in: .intake,
                    of: received.reference, sender: received.sender)
            }
        }
        return job
    }

    /// Answers and reports a command that is not stored under its id.
    private func answer(_ rejection: Failure, to command: ReceivedCommand) {
        state.withLock { $0.rejected() }
        connections.reply(
            Reply(
                id: command.id, code: rejection.code, at: clock.wall(),
                detail: rejection.detail.cut(to: Reporter.maximumDetail)), command.address)
        // Too many commands are one failure of their sender, not one for each command.
        let isOfSender = [.busy, .outbox, .disk].contains(rejection.code)
        reporter.failed(
            rejection.code, rejection.detail, in: .intake, of: isOfSender ? nil : command.reference,
            sender: command.sender)
    }
}

extension Array {
    /// The elements in runs of at most `size`, in order.
    func chunks(_ size: Int) -> some Sequence<ArraySlice<Element>> {
        sequence(state: self[...]) { rest in
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(size) }
            return rest.prefix(size)
        }
    }
}
