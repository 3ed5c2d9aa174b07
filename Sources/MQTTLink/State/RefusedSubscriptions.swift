import Threading

/// Subscriptions that the broker refused, and when they are tried again on the same connection.
struct RefusedSubscriptions: Sendable {
    typealias Instant = ContinuousClock.Instant

    private let backoff: Backoff
    private var rounds = 0
    private var subscriptions: [Subscription] = []
    /// When to try again; nil when there is nothing to try, or an answer is awaited.
    private(set) var due: Instant?

    init(backoff: Backoff) { self.backoff = backoff }

    /// Whether there is something to try when it is due.
    private var isConsistent: Bool { due == nil || !subscriptions.isEmpty }

    mutating func connectionEnded() { self = RefusedSubscriptions(backoff: backoff) }

    /// The broker has answered; these are its answers to all subscriptions.
    mutating func answered(_ results: [SubscriptionResult], at now: Instant) {
        defer { assert(isConsistent) }
        subscriptions = results.compactMap {
            if case .refused = $0.answer { $0.subscription } else { nil }
        }
        guard !subscriptions.isEmpty else { return connectionEnded() }
        // At least half of the delay: agents that a broker refused together must not come back at once.
        let ceiling = backoff.ceiling(afterRounds: rounds)
        var random = Chance()
        due = now + Backoff.uniform(ceiling / 2, ceiling, random: &random)
        rounds += 1
    }

    /// What must be tried now.
    mutating func take(at now: Instant) -> [Subscription] {
        defer { assert(isConsistent) }
        guard let due, now >= due else { return [] }
        self.due = nil
        return subscriptions
    }
}
