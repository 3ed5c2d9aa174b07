import MQTTLink
import Threading
import Waypost
import WaypostMessages

extension Intake {
    /// Dispatches the commands that are new; false when they have to be stored before, and can't be.
    func dispatch(_ commands: inout [ReceivedCommand], at now: Int64) -> Bool {
        defer { commands = [] }
        var duplicates = inFlight.takeDuplicates(&commands)
        if !duplicates.isEmpty, connections.storeSent() {
            // Those that have a result are not in flight any more.
            commands += duplicates.map(\.0)
            duplicates = inFlight.takeDuplicates(&commands)
        }
        for (command, sequence) in duplicates {
            if let sequence { duplicate(command, sequence, nil) } else { conflict(command) }
        }
        return commands.chunks(limits.commitEntries).allSatisfy {
            FaultPoint.beforeStore.reached()
            return handToJournal($0, at: now) || storeNow($0, at: now)
        }
    }

    /// Dispatches the commands, which are stored before they are acknowledged; false when one has to be stored before
    /// it runs, or is not surely new and taken.
    private func handToJournal(_ commands: ArraySlice<ReceivedCommand>, at now: Int64) -> Bool {
        guard commands.allSatisfy({ !$0.isStoredFirst && $0.rejection == nil }),
            !store.isFull, store.problem == nil,
            commands.count == 1 || Set(commands.map(\.key)).count == commands.count,
            let isKnown = try? store.read(
                commands.count, { try $0.knowsAny(of: commands.lazy.map { ($0.topic, $0.id) }) }),
            !isKnown
        else { return false }
        var reserved: [ReceivedCommand] = []
        for command in commands {
            guard shares.reserve(command.payload.count, for: command.sender) == nil else { break }
            reserved.append(command)
        }
        let first = takeSequences(commands.count)
        guard reserved.count == commands.count,
            connections.received(zip(commands, first...).map { newCommand($0, $1, at: now) })
        else {
            release(&reserved)
            return false
        }
        dispatch(zip(commands, (first...).lazy.map { .success(.stored(sequence: $0)) }), at: now)
        return true
    }

    /// The first of so many numbers of rows.
    private func takeSequences(_ count: Int) -> Int64 {
        state.withLock { state in
            defer { state.lastSequence += Int64(count) }
            return state.lastSequence + 1
        }
    }

    private func newCommand(_ command: ReceivedCommand, _ sequence: Int64, at now: Int64) -> NewCommand {
        NewCommand(
            sequence: sequence, topic: command.topic, id: command.id, digest: command.digest.bytes,
            payload: command.payload, correlation: command.address.correlation, trace: command.address.trace,
            received: now, expires: command.expires,
            keepUntil: max(now + Self.minimumRecognition, command.expires + Self.recognitionAfterExpiry),
            earlierStarts: command.earlierStarts)
    }

    /// Stores the commands in one transaction and dispatches the new ones; false when they can't be stored.
    private func storeNow(_ commands: ArraySlice<ReceivedCommand>, at now: Int64) -> Bool {
        let receipts: [Result<InboxReceipt, Failure>]
        var reserved: [ReceivedCommand] = []
        do throws(StoreError) {
            receipts = try connections.commit(commands.count) { transaction in
                // A transaction that failed may be tried again.
                release(&reserved)
                return try commands.map { try receive($0, &reserved, at: now, in: transaction) }
            }
        } catch {
            // The link is dropped for it, and that is logged with the reason.
            release(&reserved)
            return false
        }
        FaultPoint.afterStore.reached()
        dispatch(zip(commands, receipts), at: now)
        return true
    }

    private func release(_ reserved: inout [ReceivedCommand]) {
        for command in reserved { shares.release(command.payload.count, of: command.sender) }
        reserved = []
    }

    /// Looks up the command's id, before anything else is asked, and stores the command when it is new.
    private func receive(
        _ command: ReceivedCommand, _ reserved: inout [ReceivedCommand], at now: Int64,
        in transaction: Store.Transaction
    ) throws -> Result<InboxReceipt, Failure> {
        let receipt: InboxReceipt
        if let rejection = try command.rejection ?? reserve(command, at: now, in: transaction) {
            guard
                let known = try transaction.known(
                    topic: command.topic, id: command.id, digest: command.digest.bytes)
            else { return .failure(rejection) }
            receipt = known
        } else {
            reserved.append(command)
            receipt = try transaction.receive(newCommand(command, takeSequences(1), at: now))
            if case .stored = receipt {
            } else {
                reserved.removeLast()
                shares.release(command.payload.count, of: command.sender)
            }
        }
        return .success(receipt)
    }

    /// Takes space for a new command; why there is none otherwise.
    private func reserve(
        _ command: ReceivedCommand, at now: Int64, in transaction: Store.Transaction
    ) throws -> Failure? {
        guard !store.isFull else {
            return Failure(
                .disk, "the store is full (\(store.heldBytes) of \(limits.storeBytes) bytes)")
        }
        guard let refusal = shares.reserve(command.payload.count, for: command.sender) else { return nil }
        let text = shares.text(refusal, command.sender)
        guard case .idsOfSender = refusal, let end = try firstEnd(of: command.sender, in: transaction) else {
            return Failure(.busy, text)
        }
        return Failure(.busy, "\(text); the first one becomes free at \(Timestamp.rfc3339(end))")
    }

    /// When the first id of a sender is forgotten; read from disk every few seconds at most.
    private func firstEnd(of sender: String, in transaction: Store.Transaction) throws -> Int64? {
        let now = clock.monotonic()
        if let known = state.withLock({ $0.firstEnds[sender] }), now - known.read < Self.endInterval {
            return known.end
        }
        let audiences = [Audience.agent(agent)] + groups.map(Audience.group)
        let end = try transaction.firstEnd(of: audiences.map { topics.command(to: $0, from: sender) })
        state.withLock { state in
            if state.firstEnds.count >= Self.endsKept { state.firstEnds = [:] }
            state.firstEnds[sender] = end.map { ($0, now) }
        }
        return end
    }

    /// In milliseconds.
    private static var endInterval: Int64 { 10_000 }
    private static var endsKept: Int { 16 }

    private func dispatch(
        _ results: some Sequence<(ReceivedCommand, Result<InboxReceipt, Failure>)>, at now: Int64
    ) {
        var stored: [(sequence: Int64, sender: String, bytes: Int)] = []
        var started: [(ReceivedCommand, sequence: Int64)] = []
        var jobs: [CommandJob] = []
        var rejected: [EndedCommand] = []
        for (command, result) in results {
            switch result {
            case .success(.stored(let sequence)):
                stored.append((sequence, command.sender, command.payload.count))
                started.append((command, sequence))
                switch job(of: command, sequence, at: now) {
                case (let job, nil): jobs.append(job)
                case (let job, let result?): rejected.append(EndedCommand(job: job, result: result))
                }
            case .success(.duplicate(let sequence, let reply)): duplicate(command, sequence, reply)
            case .success(.conflict): conflict(command)
            case .success(.damaged):
                answer(
                    Failure(
                        .interrupted,
                        "id \(command.id) was received before, and its stored data is damaged on the disk; it is not run again"
                    ), to: command)
            case .failure(let rejection): answer(rejection, to: command)
            }
        }
        // Before anything of them can end.
        shares.stored(stored)
        inFlight.began(started)
        if !rejected.isEmpty {
            state.withLock { $0.counters.rejected += Int64(rejected.count) }
            connections.end(rejected)
        }
        connections.dispatch(jobs)
    }

    /// The job of a command that is stored or will be, and how it ends when it is not run.
    private func job(
        of received: ReceivedCommand, _ sequence: Int64, at now: Int64
    ) -> (CommandJob, CommandResult?) {
        let header: CommandHeader
        switch received.header {
        case .success(let read): header = read
        case .failure(let rejection):
            let rejected = CommandJob(
                sequence: sequence, sender: received.sender, address: received.address,
                header: CommandHeader(id: received.id, expires: now), operation: nil, startBy: 0)
            return (rejected, CommandResult(rejection, origin: .intake))
        }
        let monotonic = clock.monotonic()
        if let sequence = header.sequence {
            let last = state.withLock {
                $0.senders.gap(before: sequence, of: received.sender, at: monotonic)
            }
            if let last {
                reporter.failed(
                    .sequenceGap, "seq of \(received.sender) went from \(last) to \(sequence)", in: .intake,
                    ref: header.id, sender: received.sender)
            }
        }
        let starts = received.earlierStarts
        let job = CommandJob(
            sequence: sequence, sender: received.sender, address: received.address, header: header,
            payload: received.payload, operation: received.operation,
            startBy: monotonic + (header.expires - now), attempt: starts + 1)
        return (job, starts < limits.attempts ? nil : .interrupted(after: starts))
    }

    /// The command came before: it is not run again, and its stored reply goes out again once there is one.
    private func duplicate(_ command: ReceivedCommand, _ sequence: Int64, _ reply: [UInt8]?) {
        state.withLock { $0.counters.duplicates += 1 }
        reporter.log(.debug, "Intake", "repeated \(command.id); not run again", ref: command.id)
        if let reply { connections.repeatReply(sequence, reply, command.address) }
    }

    private func conflict(_ command: ReceivedCommand) {
        answer(
            Failure(.idReused, "id \(command.id) was already used for a different command"), to: command)
    }

    /// Answers and reports a command that is not stored under its id.
    private func answer(_ rejection: Failure, to command: ReceivedCommand) {
        state.withLock { $0.counters.rejected += 1 }
        connections.reply(
            Reply(
                id: command.id, code: rejection.code, at: clock.wall(),
                detail: rejection.detail.cut(to: Reporter.maximumDetail)), command.address)
        // Too many commands are one failure of their sender, not one for each command.
        let isOfSender = [.busy, .outbox, .disk].contains(rejection.code)
        reporter.failed(
            rejection.code, rejection.detail, in: .intake, ref: isOfSender ? nil : command.id,
            sender: command.sender)
    }
}
