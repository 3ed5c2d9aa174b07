import ArgumentParser
import WaypostMessages

/// The rule for names that stand in topics.
enum NameCheck {
    /// - Throws: a `ValidationError` naming the option.
    static func check(_ name: String?, of option: String) throws {
        guard let name, !Name.isValid(name) else { return }
        throw ValidationError(
            "\(option) \(name.debugDescription) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
    }
}
