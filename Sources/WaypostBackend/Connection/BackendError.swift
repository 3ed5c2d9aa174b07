/// Why a backend did not get what it asked for.
///
/// Its description says what was being done, to what, what was found, and what to do.
public struct BackendError: Error, Sendable, CustomStringConvertible {
    /// What happened, for code to act on.
    public enum Kind: Sendable, Hashable {
        /// What was asked for makes no sense; nothing was sent.
        case invalid
        /// Nothing was sent.
        case notSent
        /// The broker does not allow it, or ended the session for another program of the same name.
        case denied
        /// The agent refused the command, or it failed there.
        case refused
        /// There was no reply in time; the command may have run, or may still run.
        case noReply
        /// No broker accepts the connection, or it was lost.
        case noBroker
    }

    /// What happened.
    public var kind: Kind
    /// One sentence or two for people.
    public var description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
