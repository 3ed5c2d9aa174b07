import Waypost
import WaypostMessages
package import WaypostTools

/// Reads once what an agent can open and call.
package struct ContractReader {
    private let settings: BackendConfiguration

    package init(_ settings: BackendConfiguration) { self.settings = settings }

    /// - Throws: ``BackendError`` when there is no broker, when it refuses to show the documents, when there are none.
    package func contract(of agent: String, within limit: Duration) async throws -> RouterContract {
        var documents = ContractDocuments(of: agent, topics: settings.topics)
        try await BackendSession.with(settings, required: documents.filters) { session in
            _ = try await session.readRetained(within: limit) { documents.saw($0) }
        }
        guard let contract = documents.contract else {
            throw BackendError(
                .noReply,
                "the broker has no contract of agent \(agent); see: waypost agents")
        }
        return contract
    }
}
