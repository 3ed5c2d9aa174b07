import MQTTLink
import Waypost
import WaypostFleet
import WaypostMessages
import WaypostTools

/// Asks agents that have the new map where the URLs lead that it changes, and compares it with what their routes and
/// maps say here: evidence without traffic.
struct RolloutCanary: Sendable {
    /// How long an answer is waited for.
    private static let patience = TimeSpan.seconds(5)
    /// The most bytes of what is said of a URL: it stands in the lease and in the audit.
    private static let longest = 500

    let settings: BackendConfiguration
    let group: String
    let next: RolloutDirector.Document
    let base: RolloutDirector.Document?

    private var layer: String { "@\(group)" }

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

    /// What these agents answer; those that say nothing are left out.
    func answers(of agents: [String]) async -> [CanaryAnswer] {
        let urls = Array(urls.prefix(ResolveRequest.maximumURLs))
        var found: [CanaryAnswer] = []
        for agent in agents {
            guard let answer = try? await answer(to: urls, of: agent) else { continue }
            found.append(answer)
        }
        return found
    }

    private func answer(to urls: [String], of agent: String) async throws -> CanaryAnswer? {
        // Nothing is asked, and nothing differs.
        guard !urls.isEmpty else { return CanaryAnswer(agent: agent, inForce: next.id) }
        let contract = try await settings.contract(of: agent, within: .seconds(3))
        let wait = ReplyWait(atMost: Self.patience)
        let answers = try await MapReader(settings, wait).layers(of: .agent(agent))
        guard let layers = answers.values.first?.value.layers.map(\.wire),
            let stage = MapStage(contract, layers),
            (try? stage.relocate(RelocationLayer(name: layer, entries: next.entries))) != nil
        else { return nil }
        // What depends on the agent in other layers can't be foretold either.
        let isPlain = layers.allSatisfy { layer in
            layer.name == self.layer
                || layer.relocationEntries.allSatisfy { $0.when == nil && $0.except.isEmpty }
        }
        guard isPlain else { return nil }
        let answer = try await URLResolver(settings, wait).answer(urls, at: agent)
        // What was asked is answered, and nothing else is an answer.
        guard answer.routes.count == urls.count else { return nil }
        let differences = zip(urls, answer.routes).compactMap { url, resolved -> String? in
            let here = stage.resolve(url)
            let there =
                resolved.failure.map { "\($0.code.number) \($0.code.name)" } ?? resolved.route
                ?? resolved.final
            guard here != there else { return nil }
            return "\(url) leads to \(there) on \(agent), not to \(here)".cut(to: Self.longest)
        }
        let inForce = answer.inForce?.first { $0.name == layer }.map {
            RolloutControl.MapID(revision: $0.revision, digest: $0.digest)
        }
        return CanaryAnswer(agent: agent, inForce: inForce, differences: differences)
    }
}
