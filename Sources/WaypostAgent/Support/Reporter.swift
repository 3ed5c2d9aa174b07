import Waypost
import WaypostMessages

/// How a part reports something: as an event of the log, or as a failure report.
///
/// Connected by the agent, so that no part names the log or the outbox.
struct Reporter: Sendable {
    /// An event, before its text is made: most are of a level that no reader wants.
    typealias Log =
        @Sendable (
            _ level: LogLevel, _ tag: String, _ message: @autoclosure () -> String, _ isError: Bool,
            _ command: CommandReference?
        ) -> Void

    /// The longest detail of a report or a reply, in bytes: it may quote what a sender sent.
    static let maximumDetail = 2_048

    let clock: AgentClock
    let writeEvent: Log
    let sendReport: @Sendable (FailureReport) -> Void

    func log(
        _ level: LogLevel, _ tag: String, _ message: @autoclosure () -> String, isError: Bool = false,
        of command: CommandReference? = nil
    ) {
        writeEvent(level, tag, message(), isError, command)
    }

    /// Reports a failure; the event that goes with it is written too.
    ///
    /// - Parameter sender: whose message caused it; what waits on disk because of one sender is limited.
    func failed(
        _ code: Code, _ detail: String, in origin: FailureReport.Origin,
        of command: CommandReference? = nil,
        url: String? = nil, nearest: [String] = [], sender: String? = nil
    ) {
        let now = clock.wall()
        var report = FailureReport(
            id: Identifier.ulid(at: now), code: code, origin: origin, ref: command?.id, trace: command?.trace,
            url: url?.cut(to: Self.maximumDetail), detail: detail.cut(to: Self.maximumDetail),
            nearest: nearest, at: now)
        report.sender = sender
        sendReport(report)
    }
}

/// A command in what is reported of it: its id, and its `traceparent`.
package struct CommandReference: Sendable {
    /// The command for which the task runs; nil for none.
    ///
    /// What a handler logs belongs to its trace without being told so.
    @TaskLocal static var current: CommandReference?

    package var id: String
    package var trace: String?
}
