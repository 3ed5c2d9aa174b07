/// Why a text is not a URL: where reading stopped, and what was found.
public struct RouteURLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was found, in words.
    package enum Reason: String, Sendable, CustomStringConvertible {
        case empty = "the text is empty"
        /// Before `://` there is not a letter, then letters, digits, `+`, `-` and `.` (RFC 3986, 3.1).
        case invalidScheme = "the scheme is not valid"
        /// The port is not a number, or with `http` and the like above 65535.
        case invalidPort = "the port is not valid"
        /// The URL is one of `http`, `https`, `ws`, `wss`, `ftp` or `file`.
        case ambiguousHost = "browsers may read another host"
        /// Browsers read it as a slash.
        case backslash = "a backslash"
        /// Raw or encoded, as the next two.
        case controlCharacter = "a control character"
        case dotComponent = "a component `.` or `..`"
        case invalidUTF8 = "not UTF-8"
        /// Longer than 2³¹ bytes.
        case tooLong = "too long"

        /// The words.
        package var description: String { rawValue }
    }

    /// The text as it was given.
    public var url: String
    /// The byte of `url` where reading stopped, counted in UTF-8 from 0.
    public var offset: Int
    /// What was found there.
    package var reason: Reason

    /// Names the text, the offset and what was found.
    init(url: String, offset: Int, reason: Reason) {
        self.url = url
        self.offset = offset
        self.reason = reason
    }

    /// One sentence; the text is cut after 200 characters, and of a query it has the keys only.
    public var description: String {
        "parse \(RouteURL.withoutValues(url).cut(to: 200)): \(reason) at byte \(offset)"
    }
}

/// The same without the text, so that the parser never builds a string for bytes it refuses.
struct RouteURLFault: Error {
    var reason: RouteURLError.Reason
    var offset: Int
}
