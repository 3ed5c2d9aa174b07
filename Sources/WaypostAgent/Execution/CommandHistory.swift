import Waypost
import WaypostMessages

/// What the disk still knows: how commands went, and the last failures.
struct CommandHistory: Sendable {
    /// The most bytes of what one reply lists.
    private static let longestPage = 32_768
    /// Bytes of a reply beside its result.
    private static let frameBytes = 512

    /// Runs `body` in a transaction, after what waits to be stored.
    let commit:
        @Sendable (
            _ body: @Sendable (Store.Transaction) throws -> CommandResult
        ) throws(StoreError) -> CommandResult
    let topics: Topics
    /// The agent's name, for queries.
    let agent: String
    /// Those to whom a command may have been sent: the agent and its groups.
    let audiences: @Sendable () -> [Audience]
    /// The most bytes that a reply may have now.
    let maximumBytes: @Sendable () -> Int

    /// The most bytes of one page of what an answer lists.
    var pageBytes: Int { max(1, min(Self.longestPage, maximumBytes() - Self.frameBytes)) }

    /// One page of the last failures, the newest first.
    func failures(_ request: FailureRequest, at now: Int64) -> CommandResult {
        let query: LogQuery
        do throws(Failure) {
            query = try LogQuery(forAgent: request.query)
        } catch {
            return CommandResult(error, origin: .agent)
        }
        let bytes = pageBytes
        return result {
            try $0.failures(request, bytes: bytes) { report in
                query.holds(for: report.event, of: agent, code: report.code, isReport: true, now: now)
            }.answer
        }
    }

    /// How the commands went that `sender` sent under this id; nothing for what is not known.
    ///
    /// - Parameter progress: what the command of a row does at this moment.
    func commands(
        _ id: String, of sender: String, _ progress: @Sendable (_ sequence: Int64) -> CommandProgress?
    ) -> CommandResult {
        result { transaction in
            let timelines = try audiences().compactMap { audience in
                try transaction.timeline(topic: topics.command(to: audience, from: sender), id: id)
                    .map { $0.json(to: audience, $0.reply == nil ? progress($0.sequence) : nil) }
            }
            return .ok(["commands": .array(timelines)])
        }
    }

    /// The commands of `sender` without a result, the oldest first: as many as one page has, and how many others there are.
    ///
    /// - Parameters:
    ///   - own: The row of the one that asks.
    ///   - progress: what the command of a row does at this moment.
    func pending(
        of sender: String, besides own: Int64,
        _ progress: @Sendable (_ sequence: Int64) -> CommandProgress?
    ) -> CommandResult {
        let bytes = pageBytes
        let receivers = Dictionary(
            audiences().map { (topics.command(to: $0, from: sender), $0) }, uniquingKeysWith: { $1 })
        return result { transaction in
            var commands: [JSONValue] = []
            var (size, more) = (0, 0)
            try transaction.eachPending(on: receivers.keys.sorted()) { topic, id, timeline in
                guard timeline.sequence != own, let receiver = receivers[topic] else { return }
                guard more == 0 else { return more += 1 }
                let json = timeline.json(to: receiver, progress(timeline.sequence), id: id)
                size += json.serialized().count + 1
                if size <= bytes { commands.append(json) } else { more += 1 }
            }
            return .ok(["commands": .array(commands), "more": .int(Int64(more))])
        }
    }

    private func result(_ read: @Sendable (Store.Transaction) throws -> CommandResult) -> CommandResult {
        do throws(StoreError) {
            return try commit(read)
        } catch {
            return CommandResult(code: .disk, detail: "\(error)")
        }
    }
}

extension Reply {
    /// When its work began, as far as there was any; the start of what may be repeated is not stored.
    fileprivate var began: Int64? {
        switch status {
        case .ok, .failed, .canceled: at - min(max(0, milliseconds), at)
        default: nil
        }
    }
}

extension CommandTimeline {
    /// - Parameter id: The command's, where the question does not name it.
    fileprivate func json(
        to audience: Audience, _ progress: CommandProgress?, id: String? = nil
    ) -> JSONValue {
        func number(_ number: Int64?) -> JSONValue { number.map { .int($0) } ?? .null }
        var members: [String: JSONValue] = [
            "to": .string(audience.description), "state": .string(state.rawValue),
            "attempt": .int(Int64(progress?.attempt ?? attempt)),
            "running": number(progress?.runningSince), "held": number(progress?.heldSince),
            "due": number(progress?.due),
            "ahead": number(progress?.ahead.map(Int64.init)),
            "received": .int(received), "expires": .int(expires), "started": number(started ?? reply?.began),
            "ended": number(reply?.at), "acknowledged": number(acknowledged),
            "code": reply.map { .int(Int64($0.code.number)) } ?? .null,
            "name": reply.map { .string($0.code.name) } ?? .null,
            "detail": reply?.detail.map { .string($0) } ?? .null,
        ]
        if let id { members["id"] = .string(id) }
        return .object(members)
    }
}
