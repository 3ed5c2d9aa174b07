/// What a command without a result does at this moment; times in milliseconds since 1970.
struct CommandProgress: Sendable, Equatable {
    /// Which start this is or will be, from 1.
    var attempt: Int
    /// How many commands of its lane come before it; nil once its turn has come.
    var ahead: Int?
    /// Since when it runs; nil while it waits for its turn or for a thread.
    var runningSince: Int64?
    /// Since when a gate holds it; nil when none does.
    var heldSince: Int64?
}
