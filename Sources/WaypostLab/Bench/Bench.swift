package import MQTTLink
import Threading
package import WaypostBackend
package import WaypostMessages

/// A load for an agent: which commands, how many, and how fast.
package struct Bench: Sendable {
    var agent: String
    var sender: String
    var topics: Topics
    var operation: Command.Operation
    var qos: QoS
    var pace: BenchPace
    /// The last command's number plus one; nil when only time ends the run.
    var count: Int?
    /// How long commands are sent.
    var duration: Duration?

    package init(
        agent: String, sender: String, topics: Topics, operation: Command.Operation, qos: QoS,
        pace: BenchPace, count: Int?, duration: Duration?
    ) {
        self.agent = agent
        self.sender = sender
        self.topics = topics
        self.operation = operation
        self.qos = qos
        self.pace = pace
        self.count = count
        self.duration = duration
    }

    /// What came of it.
    package struct Result {
        package var tally: BenchTally
        /// How long this process did not run meanwhile.
        package var stoodStill: Duration
        /// Why it ended before its time: a ``Stop``, or a `CancellationError`.
        package var interruption: (any Error)?
    }

    /// Why there can be no load, or no more.
    package enum Stop: Error {
        case noBroker(String)
        case refused(String)
    }

    /// Puts load on the agent until all is sent and answered.
    ///
    /// - Parameters:
    ///   - silence: how long a reply is waited for.
    ///   - progress: called once a second with what came so far.
    package func run(
        at broker: BackendConfiguration, silence: Duration, progress: (BenchTally) -> Void
    ) async -> Result {
        let load = BenchLoad(self)
        var configuration = broker.oneShot(clientID: "waypost-bench-\(Identifier.short())")
        configuration.subscriptions = [Subscription(load.replyTopic)]
        configuration.queueLimit = max(configuration.queueLimit, pace.inFlight * 2)
        let link = MQTTLink(configuration: configuration, delegate: load)
        load.publish.set { [weak link] in link?.publish($0) }
        link.start()
        var interruption: (any Error)?
        do {
            try await load.drive(silence: silence, progress)
        } catch {
            interruption = error
        }
        load.state.withLock { $0.isStopped = true }
        await link.stop(within: .seconds(1))
        return load.state.withLock {
            Result(tally: $0.tally, stoodStill: $0.clock.stoodStill, interruption: interruption)
        }
    }
}
