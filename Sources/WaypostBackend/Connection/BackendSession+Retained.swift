package import MQTTLink
import Threading

extension BackendSession {
    /// Brokers that send what they retain in the background need a moment more than the round trip.
    static let graceOfRetained = Duration.milliseconds(200)

    /// Reads until the broker has sent all that it retains for the subscriptions.
    ///
    /// - Returns: whether it had sent all within the time.
    package func readRetained(within limit: Duration, _ saw: (MQTTMessage) -> Void) async throws -> Bool {
        let end = MonotonicTime.instant + limit
        let roundTrip = Guarded<Duration?>(nil)
        // Behind the answer, so that it is known when the alarm is read.
        let fence = alarm {
            guard let time = try? await self.fence() else { return false }
            roundTrip.withLock { $0 = time }
            return true
        }
        var alarm = self.alarm(after: limit)
        defer {
            fence.cancel()
            alarm.cancel()
        }
        var newest = MonotonicTime.instant
        while true {
            switch try await next() {
            case .message(let message):
                // What is not retained is news, and may go on for ever.
                if message.retain { newest = MonotonicTime.instant }
                saw(message)
            case .alarm:
                if let time = roundTrip.withLock(\.self) {
                    let silence = MonotonicTime.instant - newest
                    let needed = max(time, Self.graceOfRetained)
                    if silence >= needed { return true }
                    alarm.cancel()
                    alarm = self.alarm(after: min(needed - silence, end - MonotonicTime.instant))
                }
                if MonotonicTime.instant >= end { return false }
            }
        }
    }

    /// Reads what the broker sent before its answer to one more request.
    package func readUpToFence(_ saw: (MQTTMessage) -> Void) async throws {
        guard try await fence() != nil else { return }
        alarm(after: .zero)
        while case .message(let message) = try await next() { saw(message) }
    }
}
