import Logging
import UnixSignals
import Waypost
import WaypostAgent

/// Reads the configuration again on SIGHUP, and hands the agent what can change while it runs.
struct AgentReload: Sendable {
    let agent: Agent
    /// The settings that it was started with.
    let before: AgentSettings
    let logger: Logger
    let threshold: LogThreshold
    /// Reads all settings again, the files with them.
    let read: @Sendable () async throws(CommandError) -> AgentSettings

    /// Waits for signals until the task is cancelled.
    func watch(_ signals: UnixSignalsSequence) async {
        for await _ in signals { await reload() }
    }

    private func reload() async {
        do {
            let settings = try await read()
            var fixed = try agent.reload(settings.configuration)
            if settings.routes != before.routes { fixed.append("routes") }
            if settings.isDemo != before.isDemo { fixed.append("demo") }
            if settings.metrics != before.metrics { fixed.append("metrics") }
            if settings.renew != before.renew { fixed.append("renew") }
            if settings.localPort != before.localPort { fixed.append("local-port") }
            threshold.level = settings.ownLogLevel
            logger.notice("configuration reloaded")
            if !fixed.isEmpty {
                logger.warning(
                    "these settings need a restart of the agent: \(fixed.joined(separator: ", "))"
                )
            }
        } catch {
            logger.error("reloading the configuration: \(error.words); nothing has changed")
        }
    }
}
