import MQTTLink
import Threading
import Waypost
import WaypostFleet
import WaypostMessages

extension Agent {
    /// The document of groups came, or does not count: subscribes to what goes to groups that are new, and gives up those
    /// that it left.
    func groupsChanged(joined: [String], left: [String]) {
        let isFirst = groupChanges.withLock { changes in
            changes.came(joined: joined, left: left)
            defer { changes.areFollowed = true }
            return !changes.areFollowed
        }
        if isFirst { AgentThreads.start { [weak self] in await self?.followGroups() } }
        publishHealth()
    }

    /// One change after the other: of a group that was joined and left at once the subscription would stay.
    private func followGroups() async {
        while let change = groupChanges.withLock({ $0.next() }) {
            guard let link = reloadable.withLock(\.link) else { continue }
            giveUp(change.left, link)
            let subscriptions = change.joined.flatMap(topics.filters).map(subscription)
            guard !subscriptions.isEmpty, let answers = try? await link.subscribe(subscriptions) else {
                continue
            }
            for answer in answers where !answer.isGranted { refused(answer.subscription.filter) }
        }
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

/// What of the agent's groups its link has not followed yet: one change, however many documents come meanwhile.
struct GroupChanges {
    private var joined: [String] = []
    private var left: [String] = []
    /// Whether a task follows them.
    var areFollowed = false

    mutating func came(joined: [String], left: [String]) {
        // The link knows nothing of a group that was joined and left since.
        self.left += left.filter { !self.joined.contains($0) && !self.left.contains($0) }
        self.joined = self.joined.filter { !left.contains($0) } + joined
    }

    /// What to give up, and then what to subscribe to; nil when there is nothing, and it is not followed any more.
    mutating func next() -> (joined: [String], left: [String])? {
        guard !joined.isEmpty || !left.isEmpty else {
            areFollowed = false
            return nil
        }
        defer { (joined, left) = ([], []) }
        return (joined, left)
    }
}
