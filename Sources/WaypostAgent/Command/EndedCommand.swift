/// How a command ended, and how long it ran.
struct EndedCommand: Sendable {
    var job: CommandJob
    var result: CommandResult
    var milliseconds: Int64 = 0
}
