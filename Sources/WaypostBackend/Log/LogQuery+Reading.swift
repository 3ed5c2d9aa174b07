import Waypost
package import WaypostMessages

extension LogQuery {
    /// Reads a query of the command line.
    ///
    /// - Throws: ``BackendError`` naming the term and what it should be.
    package static func read(_ text: String) throws(BackendError) -> LogQuery {
        do { return try LogQuery(text) } catch { throw BackendError(.invalid, error.detail) }
    }
}
