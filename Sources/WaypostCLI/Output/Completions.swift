import ArgumentParser

extension CompletionKind {
    /// The profiles of this user.
    static let profiles = CompletionKind.shellCommand(
        "waypost profile list 2>/dev/null | cut -c 3- | cut -d ' ' -f 1")
}
