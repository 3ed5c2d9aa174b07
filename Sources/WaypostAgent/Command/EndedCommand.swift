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
