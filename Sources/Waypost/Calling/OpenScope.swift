/// What opens and calls hand down to those that their handlers make.
///
/// It goes along with the task: into child tasks and `Task { }`, but not into `Task.detached`.
package struct OpenScope: Sendable {
    /// How many opens and calls may lie within each other.
    ///
    /// As many as redirects in a row. A handler that opens itself twice each time makes 2^8 opens, and that ends.
    static let maximumDepth = 8

    @TaskLocal package static var current = OpenScope()

    /// The opens and calls within which the task runs.
    private(set) var depth = 0
    /// Where handlers run that wait; nil for the threads that all tasks share.
    var executor: (any TaskExecutor)?

    /// Of the handler or the method that runs.
    var context = OpenContext()

    package init(executor: (any TaskExecutor)? = nil) { self.executor = executor }

    /// The scope within one more open or call; throws 422 `CHAIN` when that is too deep.
    func entered(by subject: @autoclosure () -> String) throws(Failure) -> OpenScope {
        guard depth < Self.maximumDepth else {
            throw .chain(
                "\(subject().cut(to: 200)) is opened or called by a handler within "
                    + "\(depth) other opens and calls; \(Self.maximumDepth) are allowed")
        }
        var scope = self
        scope.depth += 1
        return scope
    }
}
