import MQTTLink
import Threading
import Waypost
import WaypostMessages

extension Agent {
    /// Runs a command of a program on this machine, in the form that it has on the wire; without an `id` it has a new one,
    /// by which nothing is recognised.
    ///
    /// It waits until the routes and the maps are there.
    ///
    /// - Parameter answer: Called once, from any thread, with the bytes of the terminal reply.
    package func runLocally(_ payload: [UInt8], _ answer: @escaping @Sendable ([UInt8]) -> Void) {
        AgentThreads.start { [self] in
            await isReady.wait()
            let redaction = events.redaction
            take(payload) { answer(redaction.masked($0).encoded()) }
        }
    }

    private func take(_ payload: [UInt8], _ answer: @escaping LocalCommands.Answer) {
        let now = clock.wall()
        var id = Identifier.ulid(at: now)
        do throws(Failure) {
            let limits = configuration.limits
            guard payload.count <= limits.commandBytes else {
                throw Failure(
                    .tooLarge, "a command has at most \(limits.commandBytes) bytes; found \(payload.count)")
            }
            let fields = try CommandPayload(stored: payload, limits: limits.json).fields
            let isNamed = fields["id"] != nil
            if isNamed { id = try Command.id(in: fields) }
            let command = try Command(
                id: id, fields: fields, arrival: now, keptFor: limits.commandLifeMilliseconds)
            guard command.schedule == nil else {
                throw Failure(.badField, "a command of this machine begins at once, without after and window")
            }
            guard executor.waiting < limits.waitingCommands else {
                throw Failure(.busy, "\(limits.waitingCommands) commands are already waiting")
            }
            let message = MQTTMessage(
                topic: topics.command(to: .agent(configuration.agent), from: CommandJob.localSender),
                payload: payload)
            let received = ReceivedCommand(
                message, from: CommandJob.localSender, id: id,
                content: Command.content(of: fields, command.operation),
                address: ReplyAddress(topic: "", trace: command.trace, traceState: command.traceState),
                header: .success(CommandHeader(command)),
                operation: command.operation, rejection: nil, at: now, isStoredFirst: false, earlierStarts: 0)
            guard let job = local.take(received, isNamed: isNamed, limits: limits, answer) else { return }
            spans?.received(received, job.sequence)
            executor.admitted([spans.map { job.within($0.trace(of: job.sequence)) } ?? job])
            executor.begin()
        } catch {
            reporter.failed(
                error.code, error.detail, in: .intake, of: CommandReference(id: id),
                sender: CommandJob.localSender)
            answer(Reply(id: id, code: error.code, at: now, detail: error.detail))
        }
    }
}
