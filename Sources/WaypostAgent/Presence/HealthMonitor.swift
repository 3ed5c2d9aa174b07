import MQTTLink
import Synchronization
import Waypost
import WaypostMessages

/// Counters and checks, collected from all rooms.
final class HealthMonitor: Sendable {
    struct State: Sendable {
        var received: Int64 = 0
        var duplicates: Int64 = 0
        var refused: Int64 = 0
        var ended: [Code.Status: Int64] = [:]
        var connects: Int64 = 0
        var mqtt: Int = 0
        /// The number of the present connection, as in presence.
        var epoch: Int64 = 0
        var brokerURL = ""
        var storeProblem: String?
        var isClockSound = true
        var isOutboxFull = false
        /// Reports that found no room and are still to be told of.
        var droppedReports: Int64 = 0
        var refusedPublishes: Int64 = 0
        var subscriptionsRefused: [String] = []
        var echo: Echo = .pending
        var brokerCertificate: Certificate?
        /// The file with the agent's own certificate.
        var certificateFile: String?
        /// The limits in force, once they were changed.
        var limits: AgentLimits?
    }

    /// What the self-test over the agent's own echo topic showed.
    enum Echo: String, Sendable {
        case pending, ok, missing
    }

    private let alarm: DiskAlarm
    private let state = Guarded(State())
    private let commands = Atomic<Int>(0)

    /// For whatever collects the process's metrics.
    let metrics: AgentMetrics

    init(alarm: DiskAlarm, metrics: AgentMetrics) {
        self.alarm = alarm
        self.metrics = metrics
    }

    /// Commands that wait or run at this moment; intake refuses more than the limit.
    var commandsWaiting: Int { commands.load(ordering: .relaxed) }

    var snapshot: State { state.withLock { $0 } }

    func update(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    func commandsAdmitted(_ count: Int) { commands.add(count, ordering: .relaxed) }
    func commandsLeft(_ count: Int) { commands.subtract(count, ordering: .relaxed) }

    func count(_ status: Code.Status) { state.withLock { $0.ended[status, default: 0] += 1 } }

    func storeFailed(_ error: StoreError) {
        state.withLock { $0.storeProblem = error.description }
        alarm.raise(error)
    }

    func storeRecovered() {
        state.withLock { if $0.storeProblem != nil { $0.storeProblem = nil } }
    }
}
