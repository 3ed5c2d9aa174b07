public import Waypost
import WaypostFleet
package import WaypostMessages

/// How a command ended at an agent.
public struct CommandReply: Sendable, Hashable {
    /// The agent.
    public let agent: String
    package let reply: Reply
    /// As it came.
    private let bytes: [UInt8]
    /// From the publishing to the reply, in milliseconds.
    package let roundTrip: Int64

    package init(agent: String, reply: Reply, bytes: [UInt8] = [], roundTrip: Int64 = 0) {
        (self.agent, self.reply, self.bytes, self.roundTrip) = (agent, reply, bytes, roundTrip)
    }

    /// The command's id.
    public var id: String { reply.id }
    /// OK, or why not.
    public var code: Code { reply.code }
    /// What the method or the route answered.
    public var result: JSONValue { reply.result }
    /// What was found, for people; nil when it went well.
    public var detail: String? { reply.detail }
    /// Names close to the one that was not found.
    public var nearest: [String] { reply.nearest }
    /// What the application says of its failure, for programs; see `Failure` of the library `Waypost`.
    public var payload: JSONValue? { reply.payload }
    /// Probable mistakes in the command, for people.
    public var warnings: [String] { reply.warnings }
    /// How often the command was started: more than 1 when the agent was interrupted.
    public var attempt: Int { reply.attempt }
    /// Whether the agent had replied before, and repeats it.
    public var isRepeated: Bool { reply.isDuplicate }
    /// How long the work took at the agent.
    public var time: Duration { .milliseconds(reply.milliseconds) }
    /// The W3C `traceparent` of the command; nil when it had none.
    public var trace: String? { reply.trace }
    /// How far the agent's clock is ahead of this machine's, where its reply shows that it is wrong, by half a minute or more;
    /// negative when it is behind, zero when it is right.
    public var clockAhead: Duration {
        .milliseconds(ClockOffset.error(of: reply, roundTrip: roundTrip))
    }
    /// Whether it went well.
    public var isOK: Bool { reply.status == .ok }
    /// How far the command is, for a sentence: `40 %, downloading`; nil when it does not say it.
    var progressText: String? { reply.progress.map(\.words) }
    /// When a command begins that waits for its time, in milliseconds since 1970 by the agent's clock; nil of any other.
    ///
    /// It has not ended then.
    public var begins: Int64? { isScheduled ? reply.due : nil }
    /// Whether it only says when the command begins.
    package var isScheduled: Bool { reply.status == .accepted && reply.due != nil }

    /// The reply as one JSON line, with the agent's name.
    package func jsonLine() -> [UInt8] {
        JSONLine.make(
            agent: agent, payload: bytes, (try? JSONValue(parsing: bytes, limits: .shown)) ?? .null)
    }

    /// The result as a type of yours.
    ///
    /// - Throws: ``BackendError`` of kind `unreadable` when it is none: the command has run.
    public func result<T: Decodable>(as type: T.Type) throws(BackendError) -> T {
        do {
            return try JSONValueDecoder().decode(type, from: result)
        } catch {
            throw BackendError(
                .unreadable,
                "the result of \(id) from \(agent) is not a \(String(describing: type)): \(error.words)",
                id: id)
        }
    }
}

/// What an open came to.
public struct OpenResult: Sendable, Hashable {
    /// The URL that was opened, after all redirects.
    public let url: String
    /// The pattern of its route.
    public let route: String?
    /// The URLs that were redirected, in order.
    public let redirects: [String]
    /// What the handler answered.
    public let value: JSONValue

    init(_ reply: CommandReply, of url: String) {
        self.url = reply.result["url"]?.stringValue ?? url
        route = reply.result["route"]?.stringValue
        redirects = (reply.result["hops"]?.arrayValue ?? []).compactMap(\.stringValue)
        value = reply.result["value"] ?? .null
    }

    /// What the handler answered, as a type of yours.
    ///
    /// - Throws: ``BackendError`` of kind `unreadable` when it is none: it has been opened.
    public func value<T: Decodable>(as type: T.Type) throws(BackendError) -> T {
        do {
            return try JSONValueDecoder().decode(type, from: value)
        } catch {
            throw BackendError(
                .unreadable,
                "the answer of \(RouteURL.withoutValues(url)) is not a \(String(describing: type)): \(error.words)"
            )
        }
    }
}

extension BackendError {
    /// An agent did not do what it was asked.
    init(refusal reply: CommandReply) {
        self.init(
            .refused, "\(reply.agent): \(reply.code): \(reply.detail ?? "no detail given")", id: reply.id)
        (code, nearest, payload) = (reply.code, reply.nearest, reply.payload)
    }
}

extension HandlerProgress {
    /// For a sentence: `40 %, downloading`.
    package var words: String {
        let percent = fraction.map { "\(Int(($0 * 100).rounded(.down))) %" }
        let parts = [percent, text].compactMap(\.self)
        return parts.isEmpty ? "at work" : parts.joined(separator: ", ")
    }
}
