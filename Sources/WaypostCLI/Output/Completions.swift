import ArgumentParser

extension CompletionKind {
    /// The agents that the broker knows; `WAYPOST_BROKER` and its like say which broker.
    static let agents = CompletionKind.shellCommand("waypost agents --names --wait 2 2>/dev/null")
    /// The profiles of this user.
    static let profiles = CompletionKind.shellCommand("waypost profile list 2>/dev/null | cut -c 3-")
}
