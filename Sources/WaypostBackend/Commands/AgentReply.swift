import Waypost
package import WaypostMessages

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
