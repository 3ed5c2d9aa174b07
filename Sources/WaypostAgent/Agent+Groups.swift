import MQTTLink
import Threading
import Waypost
import WaypostFleet
import WaypostMessages

extension Agent {
    /// The document of groups came, or does not count: subscribes to what goes to groups that are new, and gives up those
    /// that it left.
    func groupsChanged(joined: [String], left: [String]) {
        if let link = reloadable.withLock(\.link) {
            giveUp(left, link)
            let subscriptions = joined.flatMap(topics.filters).map(subscription)
            if !subscriptions.isEmpty {
                AgentThreads.start { [weak self] in
                    guard let answers = try? await link.subscribe(subscriptions) else { return }
                    for answer in answers where !answer.isGranted {
                        self?.refused(answer.subscription.filter)
                    }
                }
            }
        }
        publishHealth()
    }

    /// A session that a broker kept may have subscriptions to groups that were left while another one was connected, or
    /// before a kill.
    func giveUpLeftGroups() {
        guard let link = reloadable.withLock(\.link) else { return }
        giveUp(groups.current.left, link)
    }

    private func giveUp(_ left: [String], _ link: any MessageLink) {
        guard !left.isEmpty else { return }
        link.unsubscribe(left.flatMap { topics.filters(ofGroup: $0) + [topics.candidate(of: $0)] })
    }

    /// How it subscribes to a filter that carries nothing of its own.
    func subscription(_ filter: String) -> Subscription {
        Subscription(filter, qos: qos(of: filter), noLocal: true)
    }

    /// The broker refused a subscription.
    func refused(_ filter: String) {
        reporter.failed(
            .subscriptionRefused,
            "the broker refused the subscription to \(filter); check its rules for this agent", in: .link)
    }
}
