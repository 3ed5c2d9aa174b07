import MQTTLink
import Waypost
import WaypostMessages
import WaypostTools

/// Asks agents that have the new map where the URLs lead that it changes, and compares it with what their routes and
/// maps say here: evidence without traffic.
struct RolloutCanary: Sendable {
    /// How long an answer is waited for.
    private static let patience = TimeSpan.seconds(5)

    let settings: BackendConfiguration
    let group: String
    let next: RolloutDirector.Document
    let base: RolloutDirector.Document?

    /// URLs of entries without a condition: those with one depend on what only the agent knows.
    private var urls: [String] {
        let changes = RelocationChanges(from: base?.entries ?? [], to: next.entries).list
        let plain = changes.flatMap { [$0.before, $0.after].compactMap(\.self) }.filter { $0.when == nil }
        let conditional = Set(
            next.entries.filter { $0.when != nil || !$0.except.isEmpty }.map(\.subjectPath))
        var seen: Set<String> = []
        return plain.filter { !conditional.contains($0.subjectPath) }.compactMap(\.sample)
            .filter { seen.insert($0).inserted }
    }

    /// What differs, each a sentence; nil when no agent could be asked.
    func differences(at agents: [String]) async -> [String]? {
        let urls = Array(urls.prefix(ResolveRequest.maximumURLs))
        guard !urls.isEmpty else { return [] }
        var found: [String]?
        for agent in agents {
            guard let list = try? await differences(urls, at: agent) else { continue }
            found = (found ?? []) + list
        }
        return found
    }

    private func differences(_ urls: [String], at agent: String) async throws -> [String]? {
        let contract = try await ContractReader(settings).contract(of: agent, within: .seconds(3))
        let wait = ReplyWait(atMost: Self.patience)
        let answers = try await MapReader(settings, wait).layers(of: .agent(agent))
        guard let layers = answers.values.first?.value.layers.map(\.wire),
            let stage = MapStage(contract, layers),
            (try? stage.relocate(RelocationLayer(name: "@\(group)", entries: next.entries))) != nil
        else { return nil }
        // What depends on the agent in other layers can't be foretold either.
        let isPlain = layers.allSatisfy { layer in
            layer.name == "@\(group)"
                || layer.relocationEntries.allSatisfy { $0.when == nil && $0.except.isEmpty }
        }
        guard isPlain else { return nil }
        return try await URLResolver(settings, wait).resolve(urls, at: agent).compactMap { resolved in
            let here = stage.resolve(resolved.url)
            let there =
                resolved.failure.map { "\($0.code.number) \($0.code.name)" } ?? resolved.route
                ?? resolved.final
            return here == there ? nil : "\(resolved.url) leads to \(there) on \(agent), not to \(here)"
        }
    }
}
