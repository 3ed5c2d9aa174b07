public import Waypost
package import WaypostMessages

/// Why a backend did not get what it asked for.
///
/// Its description says what was being done, to what, what was found, and what to do.
public struct BackendError: Error, Sendable, CustomStringConvertible {
    /// What happened, for code to act on.
    public enum Kind: String, Sendable, Hashable {
        /// What was asked for makes no sense; nothing was sent.
        case invalid
        /// Nothing was sent.
        case notSent
        /// The broker knows no agent or group of that name; nothing was sent.
        case unknownReceiver
        /// The broker does not allow it, or ended the session for another program of the same name.
        case denied
        /// The agent refused the command, or it failed there: see ``BackendError/code``.
        case refused
        /// There is no reply yet; the command may have run, or may still run.
        case noReply
        /// The command has run, and its result is not of the type that was asked for.
        case unreadable
        /// No broker accepts the connection, or it was lost.
        case noBroker
    }

    /// What happened.
    public var kind: Kind
    /// One sentence or two for people.
    public var description: String { wording.library }
    /// The description, worded for the library and for the command line.
    package var wording: Wording
    /// The command that it is about, with which ``AgentClient/inspect(_:sender:)`` finds out more.
    public var id: String?
    /// How the agent ended the command; nil for other kinds than `refused`.
    public var code: Code?
    /// Names close to the one that the agent did not find.
    public var nearest: [String] = []
    /// What the application of the agent says of its failure, for programs.
    public var payload: JSONValue?
    /// What speaks against the map that was not sent, each of which a sender may allow.
    public internal(set) var objections: [MapObjection] = []
    /// The agents of a group that did not reply, with what is known of each.
    public var silent: [SilentAgent] = []

    /// Who may do it, where the broker does not let this sender.
    package var role: BrokerRole?
    /// Whether only who asks agents has to be another one.
    package var needsAsker = false
    /// Why a command does not fit the agent's contract, when that is the reason.
    package var rejection: Failure?

    package init(_ kind: Kind, _ wording: Wording, id: String? = nil, rejection: Failure? = nil) {
        (self.kind, self.wording, self.id, self.rejection) = (kind, wording, id, rejection)
    }

    /// Whether anything was sent.
    package var isSent: Bool {
        switch kind {
        case .invalid, .notSent, .unknownReceiver: false
        case .denied, .refused, .noReply, .unreadable, .noBroker: true
        }
    }

    /// Whether sending the same again, under a new id, may help.
    public var isRetryable: Bool { code?.isRetryable ?? (kind == .noBroker) }
}

/// An agent of a group that did not reply.
public struct SilentAgent: Sendable, Hashable {
    /// Its name.
    public let name: String
    /// Whether it says that it is online; nil when that is not known.
    public let isOnline: Bool?
    /// Whether it was shut down, rather than lost.
    public let isStopped: Bool
}
