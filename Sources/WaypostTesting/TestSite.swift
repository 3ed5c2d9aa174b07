import FoundationEssentials
import MQTTLink
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// The broker and the agents of a ``TestBackend``.
final class TestSite: Sendable {
    /// No program connects to it.
    static let address = "mqtt://127.0.0.1:1883"

    let broker: MemoryBroker
    private let folder: String
    private let agents = Agents()

    /// What the broker's thread looks at, too.
    private final class Agents: Sendable {
        let byName = Guarded<[String: TestAgent]>([:])
    }

    init(_ topics: Topics) throws(BackendError) {
        folder = FileManager.default.temporaryDirectory.path + "/waypost-test-\(Identifier.short())"
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        } catch { throw BackendError(.invalid, "make the folder \(folder.quoted): \(error.words)") }
        // A reply may get lost, and who comes online is awaited.
        broker = MemoryBroker(slowest: .zero) { [agents] message in
            switch topics.outbound(message.topic) {
            case (let name, .state)?:
                if message.json?["state"] == "online" {
                    agents.byName.withLock { $0[name] }?.life.cameOnline()
                }
            case (let name, .reply(let sender))?:
                guard let agent = agents.byName.withLock({ $0[name] }),
                    let id = message.json?["id"]?.stringValue
                else { break }
                return !agent.silences(id, of: sender)
            default: break
            }
            return true
        }
        broker.start()
    }

    func agent(_ name: String, groups: [String], router: Router) async throws -> TestAgent {
        let life = TestLife(name, groups: groups, folder: "\(folder)/\(name)", broker, router)
        let agent = TestAgent(life)
        let isFirst = agents.byName.withLock { agents in
            guard agents[name] == nil else { return false }
            agents[name] = agent
            return true
        }
        guard isFirst else { throw BackendError(.invalid, "there is an agent \(name) already") }
        try agent.listen()
        try await life.start()
        return agent
    }

    func end() async {
        for agent in agents.byName.withLock({ Array($0.values) }) { await agent.life.end(isKilled: true) }
        broker.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }
}

extension BrokerModel.Message {
    fileprivate var json: JSONValue? { try? JSONValue(parsing: payload) }
}
