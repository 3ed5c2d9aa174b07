import Waypost
import WaypostMessages

/// How a part reports something: as an event of the log, or as a failure report.
///
/// Connected by the agent, so that no part names the log or the outbox.
struct Reporter: Sendable {
    /// An event, before its text is made: most are of a level that no one reads.
    typealias Log =
        @Sendable (
            _ level: LogLevel, _ tag: String, _ message: @autoclosure () -> String, _ isError: Bool,
            _ ref: String?
        ) -> Void

    let clock: AgentClock
    let writeEvent: Log
    let sendReport: @Sendable (FailureReport) -> Void

    func log(
        _ level: LogLevel, _ tag: String, _ message: @autoclosure () -> String, isError: Bool = false,
        ref: String? = nil
    ) {
        writeEvent(level, tag, message(), isError, ref)
    }

    /// Reports a failure; the event that goes with it is written too.
    func failed(
        _ code: Code, _ detail: String, in origin: FailureReport.Origin, ref: String? = nil,
        url: String? = nil, nearest: [String] = []
    ) {
        let now = clock.wall()
        sendReport(
            FailureReport(
                id: Identifier.ulid(at: now), code: code, origin: origin, ref: ref, url: url, detail: detail,
                nearest: nearest, at: now))
    }
}
