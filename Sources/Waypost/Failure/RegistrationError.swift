/// Why something could not be registered; the registration changed nothing.
public enum RegistrationError: Error, Hashable, Sendable {
    /// The pattern is not valid; the offset is in bytes.
    case badPattern(String, offset: Int, detail: String)
    /// Another route has a pattern that matches exactly the same URLs.
    case conflict(pattern: String, heldBy: String)
    /// No destination of that name is registered; similar names, at most three.
    case unknownDestination(String, pattern: String, nearest: [String])
    /// Another destination without a path has that name.
    case destinationTaken(String)
    /// The type that reads the parameters can never be read from this pattern.
    case mismatch(pattern: String, detail: String)
    /// An exposed service or method is not valid, or its name is taken.
    case badService(String, detail: String)
}

extension RegistrationError: CustomStringConvertible {
    /// One sentence with the subject and what was found.
    public var description: String {
        switch self {
        case .badPattern(let pattern, let offset, let detail):
            "register \(pattern): \(detail) at byte \(offset)"
        case .conflict(let pattern, let rival): "register \(pattern): already held by \(rival)"
        case .unknownDestination(let name, let pattern, let nearest):
            "register \(pattern): no destination is named \(name)"
                + (nearest.isEmpty ? "" : "; similar are \(nearest.joined(separator: ", "))")
        case .destinationTaken(let name): "register \(name): another destination has that name"
        case .mismatch(let pattern, let detail): "register \(pattern): \(detail)"
        case .badService(let name, let detail): "expose \(name): \(detail)"
        }
    }
}
