/// A command in what is reported of it: its id, and its `traceparent`.
package struct CommandReference: Sendable {
    /// The command for which the task runs; nil for none.
    ///
    /// What a handler logs belongs to its trace without being told so.
    @TaskLocal static var current: CommandReference?

    package var id: String
    package var trace: String?
}
