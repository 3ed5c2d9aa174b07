/// Why a text is not a URL: where reading stopped, and what was found.
public struct RouteURLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was found.
    package enum Reason: Hashable, Sendable {
        /// The text is empty or only white space.
        case empty
        /// The text before `://` is not a scheme: a letter, then letters, digits, `+`, `-` and `.` (RFC 3986, 3.1).
        case invalidScheme
        /// The port is not a number, or with `http` and the like above 65535.
        case invalidPort
        /// The URL is one of `http`, `https`, `ws`, `wss`, `ftp` or `file`, and browsers may read another host in it.
        case ambiguousHost
        /// A backslash, which browsers read as a slash.
        case backslash
        /// A control character or NUL, raw or encoded.
        case controlCharacter
        /// A component is `.` or `..`, raw or encoded.
        case dotComponent
        /// The bytes, or the decoded bytes, are not UTF-8.
        case invalidUTF8
        /// The text is longer than 2³¹ bytes.
        case tooLong
    }

    /// The text as it was given.
    public var url: String
    /// The byte of `url` where reading stopped, counted in UTF-8 from 0.
    public var offset: Int
    /// What was found there.
    package var reason: Reason

    /// Names the text, the offset and what was found.
    package init(url: String, offset: Int, reason: Reason) {
        self.url = url
        self.offset = offset
        self.reason = reason
    }

    /// One sentence; the text is cut after 200 characters, and of a query it has the keys only.
    public var description: String {
        "parse \(RouteURL.withoutValues(url).cut(to: 200)): \(reason) at byte \(offset)"
    }
}

extension RouteURLError.Reason: CustomStringConvertible {
    /// The reason in words.
    public var description: String {
        switch self {
        case .empty: "the text is empty"
        case .invalidScheme: "the scheme is not valid"
        case .invalidPort: "the port is not valid"
        case .ambiguousHost: "browsers may read another host"
        case .backslash: "a backslash"
        case .controlCharacter: "a control character"
        case .dotComponent: "a component `.` or `..`"
        case .invalidUTF8: "not UTF-8"
        case .tooLong: "too long"
        }
    }
}

/// The same without the text, so that the parser never builds a string for bytes it refuses.
struct RouteURLFault: Error {
    var reason: RouteURLError.Reason
    var offset: Int
}
