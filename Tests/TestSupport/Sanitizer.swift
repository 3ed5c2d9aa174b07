import Foundation

/// The sanitizer of this build: `thread` or `address`, as `scripts/test --sanitize` says; nil in a usual one.
public enum Sanitizer {
    /// Its name.
    public static let name = ProcessInfo.processInfo.environment["WAYPOST_SANITIZER"]

    /// Whether there is none.
    ///
    /// With one a process can't be measured, nor bounded by the system: the sanitizer's own memory and files count too.
    public static let isAbsent = name == nil
}
