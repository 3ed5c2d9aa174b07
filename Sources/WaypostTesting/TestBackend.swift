import MQTTLink
public import Waypost
public import WaypostBackend
import WaypostMessages

/// A broker and agents in memory, for unit tests of what a backend does: no process and no port.
///
///     try await TestBackend.with { test in
///         let kiosk = try await test.agent("kiosk-7", router: try makeRouter())
///         try kiosk.fail("kiosk://orders/:id", with: Failure(.handlerFailed, "out of paper"))
///         try await showOrder(17, on: test.backend.agent("kiosk-7"))
///     }
///
/// All but the network is the product's own: commands are sent, stored, run once, answered and repeated as they are at a
/// real broker, and so are maps, groups, events and failures. The agents' state is in a temporary folder, which is
/// removed in the end.
public final class TestBackend: Sendable {
    /// For what makes a backend of its own; it reaches this broker alone.
    public let configuration: BackendConfiguration
    /// A connected backend.
    public let backend: Backend
    private let site: TestSite

    private init(_ site: TestSite, _ configuration: BackendConfiguration, _ backend: Backend) {
        (self.site, self.configuration, self.backend) = (site, configuration, backend)
    }

    /// Begins with a broker and no agent, does `body`, and ends all of it, whatever comes of it.
    ///
    /// - Parameter name: The sender's name; `test` unless given.
    /// - Throws: ``BackendError`` for a name that is none, and what `body` throws.
    public static func with<Value>(
        name: String = "test", _ body: (TestBackend) async throws -> Value
    ) async throws -> Value {
        var configuration = try BackendConfiguration(broker: TestSite.address, name: name)
        let site = try TestSite(configuration.topics)
        configuration.makeLink = { MemoryLink($0, $1, site.broker) }
        let result: Result<Value, any Error>
        do {
            result = .success(
                try await Backend.with(configuration) {
                    try await body(TestBackend(site, configuration, $0))
                })
        } catch { result = .failure(error) }
        await site.end()
        return try result.get()
    }

    /// Starts an agent, and returns when it is online.
    ///
    /// It is as an agent is by default, but that one sender may send as fast as it can.
    ///
    /// - Parameters:
    ///   - name: Its name; one agent of each name.
    ///   - groups: Its groups beside `all`.
    ///   - router: What it opens and calls; it belongs to the agent from now on.
    /// - Throws: An error that says what is wrong with a name, or with the temporary folder.
    @discardableResult
    public func agent(
        _ name: String, groups: [String] = [], router: Router
    ) async throws -> TestAgent {
        try await site.agent(name, groups: groups, router: router)
    }

    /// The broker ends and starts again, with what it kept.
    ///
    /// Every connection breaks, and is made again after a moment.
    public func restartBroker() { site.broker.restart(isKilled: true) }
}
