import MQTTLink
import Waypost
import WaypostMessages

/// What the broker keeps of one agent about its routes and services.
struct ContractDocuments {
    private let topics: Topics
    private let agent: String
    private var routes: JSONValue?
    private var rest: JSONValue?

    init(of agent: String, topics: Topics) {
        self.agent = agent
        self.topics = topics
    }

    var filters: [String] { [topics.routes(of: agent), topics.contract(of: agent)] }

    mutating func saw(_ message: MQTTMessage) {
        switch message.topic {
        case topics.routes(of: agent): routes = message.json
        case topics.contract(of: agent): rest = message.json
        default: break
        }
    }

    /// The contract; nil while a part of it is missing or can not be read.
    var contract: RouterContract? {
        guard let routes, let members = rest?.objectValue else { return nil }
        return try? RouterContract(.object(members.merging(["routes": routes]) { $1 }))
    }
}

/// Reads once what an agent can open and call.
struct ContractReader {
    let settings: BrokerSettings
    let sender: String

    /// - Throws: ``CommandError`` 4 when there is no broker, 1 when it refuses to show the documents, 3 when there are
    ///   none.
    func contract(of agent: String, within limit: Duration) async throws -> RouterContract {
        var documents = ContractDocuments(of: agent, topics: settings.topics)
        try await OperatorSession.with(settings, as: sender, required: documents.filters) { session in
            _ = try await session.readRetained(within: limit) { documents.saw($0) }
        }
        guard let contract = documents.contract else {
            throw CommandError(
                .noReply,
                "the broker keeps no contract of an agent \(agent); see: waypost agents")
        }
        return contract
    }
}

extension OperatorSession {
    /// Reads what the broker sent before its answer to one more request.
    func readUpToFence(_ saw: (MQTTMessage) -> Void) async throws {
        guard await fence() != nil else { return }
        alarm(after: .zero)
        while case .message(let message) = try await next() { saw(message) }
    }
}
