import MQTTLink
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// What breaks one gate, and what that does.
enum RolloutBreach: String, CaseIterable, Sendable {
    case candidate, resolve, reports, health
    case notFound = "not-found"
    case failures, opens, lost, guarded = "guard"

    static let pausing: [RolloutBreach] = [.candidate, .resolve, .reports, .health]
    static let takingBack: [RolloutBreach] = [.notFound, .failures, .opens, .lost, .guarded]

    /// Happens at these agents, which have the candidate.
    func happen(at agents: [Int], in scene: inout RolloutScene) throws {
        let names = agents.map { scene.crowd.agents[$0].name }
        switch self {
        case .candidate: scene.report(agents[0], .base, .refused)
        case .resolve:
            let next = try required(scene.control?.next)
            scene.director?.resolved([
                CanaryAnswer(agent: names[0], inForce: next, differences: ["a leads to b, not to c"])
            ])
        case .reports: for index in agents { scene.report(index, .base, .drifted) }
        case .health:
            for index in agents {
                scene.crowd.agents[index].isRed = true
                for message in scene.crowd.birth(index, at: scene.now) { scene.publish(message) }
            }
        case .notFound: scene.fail(agents, .noRoute)
        case .failures: for _ in 0..<6 { scene.fail(agents, .handlerFailed) }
        case .opens: for index in agents { scene.report(index, .next, .chosen, opened: 20, failed: 10) }
        case .lost:
            for index in agents {
                for message in scene.crowd.lose(index) { scene.publish(message) }
            }
        case .guarded: for index in agents { scene.report(index, .base, .guarded) }
        }
    }
}
