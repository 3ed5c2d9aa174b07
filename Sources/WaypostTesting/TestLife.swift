import Logging
import MQTTLink
import Threading
import Waypost
import WaypostAgent

/// The runs of an agent, one after the other, with one state.
final class TestLife: Sendable {
    private struct Run: Sendable {
        let work: Task<Void, Never>
        let process: Process
    }

    /// What is known of one run by those who did not begin it.
    private final class Process: Sendable {
        let link = Guarded<MemoryLink?>(nil)
        /// Nil once it is online, or why it ended before.
        let beginning = Promise<(any Error)?>()
    }

    let name: String
    let router: Router
    private let groups: [String]
    private let folder: String
    private let broker: MemoryBroker
    private let run = Guarded<Run?>(nil)

    init(_ name: String, groups: [String], folder: String, _ broker: MemoryBroker, _ router: Router) {
        (self.name, self.groups, self.folder) = (name, groups, folder)
        (self.broker, self.router) = (broker, router)
    }

    /// Returns when it is online.
    func start() async throws {
        await end(isKilled: false)
        var link = MQTTLinkConfiguration(brokers: [try BrokerURL(TestSite.address)], clientID: name)
        link.willDelay = 0
        link.reconnect = .init(first: .milliseconds(10), longest: .milliseconds(100))
        var configuration = AgentConfiguration(
            agent: name, groups: groups, stateDirectory: folder, link: link)
        configuration.durability = .normal
        // All that a test sends comes from one sender.
        configuration.limits.intakeRate = 0
        let process = Process()
        let agent = try Agent(
            configuration, router: router, logger: Logger(label: name) { _ in SwiftLogNoOpLogHandler() },
            clock: .system,
            makeLink: { [broker] configuration, delegate in
                let link = MemoryLink(configuration, delegate, broker)
                process.link.withLock { $0 = link }
                return link
            })
        // It may be online before this goes on, and is looked for then.
        run.withLock { run in
            let work = Task {
                do {
                    try await agent.run()
                    process.beginning.fulfill(CancellationError())
                } catch { process.beginning.fulfill(error) }
            }
            run = Run(work: work, process: process)
        }
        if let error = try await process.beginning.value() { throw error }
    }

    func cameOnline() { run.withLock(\.self)?.process.beginning.fulfill(nil) }

    /// Returns when it has ended; at once when it does not run.
    func end(isKilled: Bool) async {
        let last = run.withLock { run in
            defer { run = nil }
            return run
        }
        guard let last else { return }
        if isKilled { last.process.link.withLock(\.self)?.die() }
        last.work.cancel()
        await last.work.value
    }
}
