import Waypost
import WaypostMessages

extension LogQuery {
    /// Reads a query of the command line.
    ///
    /// - Throws: ``CommandError`` 64 naming the term and what it should be.
    static func read(_ text: String) throws(CommandError) -> LogQuery {
        do { return try LogQuery(text) } catch { throw CommandError(.usage, error.detail) }
    }

    /// Whether it holds for a line.
    ///
    /// - Parameter now: the time of the wall clock, in milliseconds since 1970.
    func holds(for line: LogLine, now: Int64) -> Bool {
        holds(for: line.event, of: line.agent, code: line.code, isReport: line.isReport, now: now)
    }
}
