import Waypost
import WaypostMessages

/// What the disk still knows: the way of a command, and the failures of the past.
struct Past: Sendable {
    /// The most bytes of failures in one reply.
    private static let pageBytes = 32_768
    /// Bytes of a reply beside its result.
    private static let frameBytes = 512

    /// Runs `body` in a transaction, after what waits to be stored.
    let commit:
        @Sendable (
            _ body: @Sendable (Store.Transaction) throws -> CommandResult
        ) throws(StoreError) -> CommandResult
    let topics: Topics
    /// Those to whom a command may have been sent: the agent and its groups.
    let audiences: [Audience]
    /// The most bytes that a reply may have now.
    let maximumBytes: @Sendable () -> Int

    /// One page of the last failures, the newest first.
    func failures(since: Int64, before sequence: Int64, maximum: Int) -> CommandResult {
        let bytes = max(1, min(Self.pageBytes, maximumBytes() - Self.frameBytes))
        return result {
            let page = try $0.failures(since: since, before: sequence, maximum: maximum, bytes: bytes)
            return .ok([
                "failures": .array(page.reports), "next": page.next.map { .int($0) } ?? .null,
                "damaged": .int(Int64(page.damaged)),
            ])
        }
    }

    /// The way of the commands that `sender` sent under this id; nothing for what is not known.
    func commands(_ id: String, of sender: String) -> CommandResult {
        result { transaction in
            let ways = try audiences.compactMap { audience in
                try transaction.way(topic: topics.command(to: audience, from: sender), id: id)
                    .map { $0.json(to: audience) }
            }
            return .ok(["commands": .array(ways)])
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

extension CommandWay {
    fileprivate func json(to audience: Audience) -> JSONValue {
        func time(_ milliseconds: Int64?) -> JSONValue { milliseconds.map { .int($0) } ?? .null }
        return [
            "to": .string(audience.description), "state": .string(state.rawValue),
            "attempt": .int(Int64(attempt)),
            "received": .int(received), "expires": .int(expires), "started": time(started ?? reply?.began),
            "ended": time(reply?.at), "acknowledged": time(acknowledged),
            "code": reply.map { .int(Int64($0.code.number)) } ?? .null,
            "name": reply.map { .string($0.code.name) } ?? .null,
            "detail": reply?.detail.map { .string($0) } ?? .null,
        ]
    }
}
