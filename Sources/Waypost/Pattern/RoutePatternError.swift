/// Why a text is not a pattern: where reading stopped, and what was found.
package struct RoutePatternError: Error, Hashable, Sendable {
    /// What was found.
    package enum Reason: Hashable, Sendable {
        /// The text is empty or only white space.
        case empty
        /// The text before `://` is not a scheme.
        case invalidScheme
        /// A `:` or `<…>` without a name.
        case missingName
        /// The name occurs twice.
        case repeatedName(String)
        /// A `<` without its `>`, or a name with a character that is not allowed.
        case malformedPlaceholder
        /// `<name:…>` with a name that is neither built in nor registered.
        case unknownConverter(String)
        /// A placeholder right behind another, so that nothing says where the first ends.
        case adjacentPlaceholders
        /// A component with more than 16 placeholders.
        case tooManyPlaceholders
        /// `**` or `<path:…>` that is not a whole component, or not the last one.
        case misplacedRest
        /// An optional part that is empty, not closed, or not at the end of the path, or with nothing before it.
        case malformedOptional
        /// More than four optional parts.
        case tooManyOptionals
        /// A component is `.` or `..`, raw or encoded.
        case dotComponent
        /// A control character or NUL, raw or encoded.
        case controlCharacter
        /// The decoded bytes are not UTF-8.
        case invalidUTF8
        /// More than 16 384 bytes.
        case tooLong
        /// More than 128 components.
        case tooManyComponents
    }

    /// The pattern as it was given.
    package var pattern: String
    /// The byte of `pattern` where reading stopped, counted in UTF-8 from 0.
    package var offset: Int
    /// What was found there.
    package var reason: Reason

    /// Names the pattern, the offset and what was found.
    package init(pattern: String, offset: Int, reason: Reason) {
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
