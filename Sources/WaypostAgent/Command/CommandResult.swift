package import Waypost
package import WaypostMessages

/// How a command ended.
package struct CommandResult: Sendable {
    package var code: Code
    package var value: JSONValue = .null
    package var detail: String?
    package var nearest: [String] = []
    /// What the application says beside the detail.
    var payload: JSONValue?
    /// What failed, for the failure report.
    package var origin: FailureReport.Origin = .agent
    package var url: String?

    package static func ok(_ value: JSONValue = .null) -> CommandResult {
        CommandResult(code: .ok, value: value)
    }

    static let expired = CommandResult(
        code: .expired, detail: "expired before it could start", origin: .intake)

    /// Why a command ends whose time does not come before it expires.
    static let notOpen = CommandResult(
        code: .expired, detail: "expired before its time came: see after and window", origin: .intake)

    static let canceledWaiting = CommandResult(code: .canceled, detail: "canceled while it waited")

    static let canceled = CommandResult(code: .canceled, detail: "canceled while it ran")

    static func late(after deadline: Int64) -> CommandResult {
        CommandResult(code: .deadline, detail: "the handler did not end within \(deadline) ms")
    }

    static func notBegun(within deadline: Int64) -> CommandResult {
        CommandResult(
            code: .deadline,
            detail:
                "no thread was free for the handler within \(deadline) ms: other handlers block all that its sender may have"
        )
    }

    static func interrupted(after starts: Int) -> CommandResult {
        .interrupted("the agent ended \(starts) times before the command had a result")
    }

    static func interrupted(_ detail: String) -> CommandResult {
        CommandResult(code: .interrupted, detail: detail)
    }

    /// A command that its sender canceled is answered, and is no failure.
    var isFailure: Bool { ![.ok, .canceled, .notMeant].contains(code) }
}

extension CommandResult {
    package init(_ failure: Failure, origin: FailureReport.Origin, url: String? = nil) {
        // What a program throws is bounded here, as the protocol has it.
        self.init(
            code: failure.code, detail: failure.detail.isEmpty ? "no detail given" : failure.detail,
            nearest: failure.nearest.prefix(3).map { $0.cut(to: 512) }, payload: failure.payload,
            origin: origin, url: url)
    }

    init(_ opening: Opening) {
        if let failure = opening.failure {
            self.init(failure, origin: .router, url: opening.url)
        } else {
            self.init(code: .ok, value: opening.json, url: opening.url)
        }
    }

    /// What that gives, or the failure that it throws.
    init(
        origin: FailureReport.Origin, of work: nonisolated(nonsending) () async throws(Failure) -> JSONValue
    ) async {
        do throws(Failure) {
            self = .ok(try await work())
        } catch {
            self.init(error, origin: origin)
        }
    }
}

/// How a command ended, and how long it ran; a class for the reason of ``CommandJob``.
final class EndedCommand: Sendable {
    let job: CommandJob
    let result: CommandResult
    let milliseconds: Int64

    init(job: CommandJob, result: CommandResult, milliseconds: Int64 = 0) {
        self.job = job
        self.result = result
        self.milliseconds = milliseconds
    }
}
