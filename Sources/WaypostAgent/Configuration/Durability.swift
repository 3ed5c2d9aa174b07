/// When a commit counts as done.
public enum Durability: String, Sendable, Hashable, CaseIterable {
    /// Every commit is on the disk before it returns: what the guarantees rest on.
    case full
    /// Survives a crash of the process, not a loss of power.
    case normal
    /// For measuring only: the operating system writes when it likes.
    case off

    /// The value of SQLite's `PRAGMA synchronous`.
    var pragma: String {
        switch self {
        case .full: "FULL"
        case .normal: "NORMAL"
        case .off: "OFF"
        }
    }
}
