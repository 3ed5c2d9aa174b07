/// What happens to a map in force whose `exp` passes.
public enum MapExpiry: String, Sendable, Hashable, CaseIterable {
    /// It stays; health turns red and the end is reported every hour.
    case keep
    /// It is left out until a new one comes; health turns red and the end is reported every hour.
    case revert
}
