/// A parameter that is missing, or is not of the type that the handler needs.
public struct ParameterError: Error, Hashable, Sendable {
    /// The key, with the path inside its value when that is a structure: `items[2].name`.
    public var key: String
    /// The value; nil when it is missing.
    public var found: JSONValue?
    /// The type that the handler needs.
    public var type: String
    /// What was wrong, as the rest of a sentence that begins with the key.
    public var reason: String

    /// An error of that key.
    init(key: String, found: JSONValue?, type: String, reason: String) {
        self.key = key
        self.found = found
        self.type = type
        self.reason = reason
    }
}

extension ParameterError: CustomStringConvertible {
    /// One sentence with key, text and type.
    public var description: String {
        "parameter \"\(key)\" \(reason) (read as \(type))"
    }
}
