import Waypost
import WaypostMessages

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
