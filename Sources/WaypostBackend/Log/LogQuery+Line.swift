import Waypost
package import WaypostMessages

extension LogQuery {
    /// Reads a query of the command line.
    ///
    /// - Throws: ``BackendError`` naming the term and what it should be.
    package static func read(_ text: String) throws(BackendError) -> LogQuery {
        do { return try LogQuery(text) } catch { throw BackendError(.invalid, error.detail) }
    }

    /// Whether it holds for a line.
    ///
    /// - Parameter now: the time of the wall clock, in milliseconds since 1970.
    package func holds(for line: LogLine, now: Int64) -> Bool {
        holds(for: line.event, of: line.agent, code: line.code, isReport: line.isReport, now: now)
    }
}
