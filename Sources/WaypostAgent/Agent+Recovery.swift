import Waypost
import WaypostMessages

extension Agent {
    /// Takes up what an earlier run left on disk, each command at the step it had reached.
    func recover() throws(StoreError) {
        let (unfinished, outbox) = try store.commit { (try $0.unfinished(), try $0.outbox()) }
        journal.tookUp(outbox)
        self.outbox.enqueue(outbox.map(OutboxItem.init))
        var work: [Work] = []
        for record in unfinished {
            guard case .command(_, let sender)? = topics.inbound(record.topic) else { continue }
            let usual = topics.reply(of: configuration.agent, to: sender)
            let address = ReplyAddress(stored: record.properties, usual: usual)
            if let reply = record.reply {
                self.outbox.enqueue([
                    OutboxItem(
                        origin: .reply(sequence: record.sequence), kind: .reply,
                        message: address.message(reply))
                ])
            } else {
                work += takeUp(record, of: sender, address)
            }
        }
        if !unfinished.isEmpty || !outbox.isEmpty {
            events.log(
                .info, "Agent",
                "took up \(unfinished.count.counted("command")) and \(outbox.count.counted("report")) of an earlier run"
            )
        }
        dispatcher.admitted(work)
    }

    /// What to do with a command that has no result: run it, or say that it was interrupted.
    private func takeUp(_ record: InboxRecord, of sender: String, _ address: ReplyAddress) -> [Work] {
        let now = clock.wall()
        var work = Work(
            sequence: record.sequence, sender: sender, address: address,
            command: Command(id: record.id, operation: .ping, expires: record.expires),
            startBy: clock.monotonic() + (record.expires - now), attempts: record.attempt, isIdempotent: true)
        do throws(Rejection) {
            work.command = try command(of: record)
        } catch {
            journal.end(work, Verdict(error, room: .intake), milliseconds: 0, at: now)
            return []
        }
        work.isIdempotent = runner.isIdempotent(work.command.operation)
        guard record.state == .started else { return [work] }
        guard work.isIdempotent else {
            work.attempts = max(0, record.attempt - 1)
            journal.end(
                work,
                Verdict(
                    code: .interrupted,
                    detail: "the agent ended while the command ran; it is not declared idempotent"),
                milliseconds: 0, at: now)
            return []
        }
        // It was started in time; the deadline does not count against running it to its end.
        work.startBy = .max
        return [work]
    }

    private func command(of record: InboxRecord) throws(Rejection) -> Command {
        let payload = try CommandPayload(stored: record.payload, limits: configuration.limits.json)
        return try Command(id: record.id, fields: payload.json, arrival: record.received)
    }
}
