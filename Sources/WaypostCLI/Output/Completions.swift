import ArgumentParser

extension CompletionKind {
    /// The agents that the broker knows; `WAYPOST_BROKER` and its like say which broker.
    static let agents = CompletionKind.shellCommand("waypost agents --names --wait 2 2>/dev/null")
}
