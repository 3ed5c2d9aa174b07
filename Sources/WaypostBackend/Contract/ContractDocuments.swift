package import MQTTLink
import Waypost
package import WaypostMessages
package import WaypostTools

/// What the broker keeps of one agent about its routes and services.
package struct ContractDocuments {
    private let topics: Topics
    private let agent: String
    private var routes: JSONValue?
    private var rest: JSONValue?

    package init(of agent: String, topics: Topics) {
        self.agent = agent
        self.topics = topics
    }

    package var filters: [String] { [topics.routes(of: agent), topics.contract(of: agent)] }

    package mutating func saw(_ message: MQTTMessage) {
        switch message.topic {
        case topics.routes(of: agent): routes = message.json
        case topics.contract(of: agent): rest = message.json
        default: break
        }
    }

    /// The contract; nil while a part of it is missing or cannot be read.
    package var contract: RouterContract? {
        guard let routes, let members = rest?.objectValue else { return nil }
        return try? RouterContract(.object(members.merging(["routes": routes]) { $1 }))
    }
}

extension BackendConfiguration {
    /// Reads once what an agent can open and call.
    ///
    /// - Throws: ``BackendError`` when there is no broker, when it refuses to show the documents, when there are none.
    package func contract(of agent: String, within limit: Duration) async throws -> RouterContract {
        var documents = ContractDocuments(of: agent, topics: topics)
        try await BackendSession.with(self, required: documents.filters) { session in
            try await session.readRetained(within: limit) { documents.saw($0) }
        }
        guard let contract = documents.contract else {
            throw BackendError(
                .noReply,
                "the broker has no contract of agent \(agent)\(shell: "; see: waypost agents")")
        }
        return contract
    }
}
