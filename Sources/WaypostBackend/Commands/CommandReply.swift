public import Waypost
import WaypostFleet
package import WaypostMessages

/// How a command ended at an agent.
public struct CommandReply: Sendable, Hashable {
    /// The agent.
    public let agent: String
    /// The command's id.
    public let id: String
    /// OK, or why not.
    public let code: Code
    /// What the method or the route answered.
    public let result: JSONValue
    /// What was found, for people; nil when it went well.
    public let detail: String?
    /// Names close to the one that was not found.
    public let nearest: [String]
    /// What the application says of its failure, for programs; see `Failure` of the library `Waypost`.
    public let payload: JSONValue?
    /// Probable mistakes in the command, for people.
    public let warnings: [String]
    /// How often the command was started: more than 1 when the agent was interrupted.
    public let attempt: Int
    /// Whether the agent had replied before, and repeats it.
    public let isRepeated: Bool
    /// How long the work took at the agent.
    public let time: Duration

    init(_ answer: AgentReply) {
        let reply = answer.reply
        agent = answer.agent
        (id, code, result, detail) = (reply.id, reply.code, reply.result, reply.detail)
        (nearest, payload) = (reply.nearest, reply.payload)
        (warnings, attempt) = (reply.warnings, reply.attempt)
        (isRepeated, time) = (reply.isDuplicate, .milliseconds(reply.milliseconds))
    }

    /// Whether it went well.
    public var isOK: Bool { code == .ok }

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
}

extension BackendError {
    /// An agent did not do what it was asked.
    init(refusal reply: CommandReply) {
        self.init(
            .refused, "\(reply.agent): \(reply.code): \(reply.detail ?? "no detail given")", id: reply.id)
        (code, nearest, payload) = (reply.code, reply.nearest, reply.payload)
    }
}

/// An agent's terminal reply, with its bytes.
package struct AgentReply: Sendable {
    package var agent: String
    package var reply: Reply
    package var payload: [UInt8]
    /// From the publishing to the reply, in milliseconds.
    package var roundTrip: Int64

    package init(agent: String, reply: Reply, payload: [UInt8], roundTrip: Int64) {
        (self.agent, self.reply) = (agent, reply)
        (self.payload, self.roundTrip) = (payload, roundTrip)
    }

    package var isOK: Bool { reply.status == .ok }

    /// The reply as one JSON line, with the agent's name.
    package func jsonLine() -> [UInt8] {
        let json = (try? JSONValue(parsing: payload, limits: .shown)) ?? .null
        return JSONLine.make(agent: agent, payload: payload, json)
    }
}
