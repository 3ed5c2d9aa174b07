/// Why a text is not a pattern: where reading stopped, and what was found.
package struct RoutePatternError: Error, Hashable, Sendable {
    /// What was found; its description says it in words.
    package enum Reason: Hashable, Sendable {
        case empty, invalidScheme, missingName
        case repeatedName(String)
        /// A `<` without its `>`, or a name with a character that is not allowed.
        case malformedPlaceholder
        /// `<name:…>` with a name that is neither built in nor registered.
        case unknownConverter(String)
        case adjacentPlaceholders, tooManyPlaceholders, misplacedRest
        /// One that is empty, not closed, or not at the end of the path, or with nothing before it.
        case malformedOptional
        case tooManyOptionals
        /// Raw or encoded, as the next two.
        case dotComponent
        case controlCharacter, invalidUTF8
        case tooLong, tooManyComponents
    }

    /// The pattern as it was given.
    package var pattern: String
    /// The byte of `pattern` where reading stopped, counted in UTF-8 from 0.
    package var offset: Int
    /// What was found there.
    package var reason: Reason

    /// Names the pattern, the offset and what was found.
    init(pattern: String, offset: Int, reason: Reason) {
        self.pattern = pattern
        self.offset = offset
        self.reason = reason
    }
}

extension RoutePatternError: CustomStringConvertible {
    /// One sentence; the pattern is cut after 200 characters.
    package var description: String {
        "read pattern \(pattern.cut(to: 200)): \(reason) at byte \(offset)"
    }
}

extension RoutePatternError.Reason: CustomStringConvertible {
    /// The reason in words.
    package var description: String {
        switch self {
        case .empty: "the text is empty"
        case .invalidScheme: "the scheme is not valid"
        case .missingName: "a placeholder without a name"
        case .repeatedName(let name): "the name \(name) occurs twice"
        case .malformedPlaceholder: "a malformed placeholder"
        case .unknownConverter(let name): "the converter \(name) is unknown"
        case .adjacentPlaceholders: "two placeholders with nothing between them"
        case .tooManyPlaceholders:
            "more than \(RoutePattern.maximumPlaceholders) placeholders in one component"
        case .misplacedRest: "a rest that is not the last component"
        case .malformedOptional:
            "an optional part that is not whole components at the end of the path, as (/b) in /a(/b)"
        case .tooManyOptionals: "more than \(OptionalParts.maximum) optional parts"
        case .dotComponent: "a component `.` or `..`"
        case .controlCharacter: "a control character"
        case .invalidUTF8: "not UTF-8"
        case .tooLong: "more than \(RoutePattern.maximumBytes) bytes"
        case .tooManyComponents: "more than \(RoutePattern.maximumComponents) components"
        }
    }
}
