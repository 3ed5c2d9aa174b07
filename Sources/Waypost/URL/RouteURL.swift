/// A URL as the router reads it: `scheme://host/path?query#fragment`.
///
/// Parsing finds where the parts begin and end, and throws when the text is not a URL. Parts are decoded when they are
/// read.
///
///     let url = try RouteURL("myapp://orders/42?tab=items#top")
///     url.scheme        // "myapp"
///     url.components    // ["orders", "42"]
///     url.query["tab"]  // "items"
///
/// - White space around the text is dropped. The text is cut at the first `#`, then at the first `?`.
/// - Components are the host, then the path's components that are not empty. Port and user info take no part.
/// - Each component is percent-decoded after the split, so `%2F` stays inside its component. A `%` that two hex
///   digits do not follow stands for itself.
/// - A scheme needs no `//`: `tel:112` and `app:/x` have one, and no host. Without a scheme every component belongs to
///   the path; a first component with a colon in it is written `/a:b`.
/// - With `http`, `https`, `ws`, `wss`, `ftp` and `file`, a URL is refused when RFC 3986 and the WHATWG URL standard,
///   by which browsers read it, may name different hosts: several `@`, encoded or other than ASCII characters in the
///   host, unusual forms of an IP address, no host, no `//`. A backslash is refused in every URL.
/// - Their hosts have no case (RFC 3986, 3.2.2), and are turned into lower case. In an app's own scheme the host is the
///   first component of a route, and has case.
/// - `.` and `..`, control characters and what does not decode to UTF-8 are refused. In query and fragment an
///   encoded control character other than NUL is text like any other.
///
/// Two URLs are equal when they mean the same: raw and encoded spelling, `//` and a trailing `/` make no difference.
public struct RouteURL: Sendable {
    /// The text without the white space around it, as it was written, except for capitals in the name of a web host.
    public let text: String
    let parts: RouteURLParts

    /// Reads `text`.
    ///
    /// - Throws: ``RouteURLError`` with the byte where reading stopped.
    public init(_ text: String) throws(RouteURLError) {
        do throws(RouteURLFault) {
            let parts = try Self.parts(of: text)
            guard parts.hasCapitalsInHost else {
                self.init(text: text, untrimmed: parts)
                return
            }
            let lowercased = String(decoding: parts.lowercasingHost(text.utf8), as: UTF8.self)
            self.init(text: lowercased, untrimmed: parts)
        } catch {
            throw RouteURLError(url: text, offset: error.offset, reason: error.reason)
        }
    }

    /// A text that is to be read, without any part so far.
    init(unread text: String) {
        self.text = text
        parts = RouteURLParts()
    }

    /// Builds a URL from decoded parts and encodes what must be.
    ///
    ///     let url = try RouteURL(scheme: "myapp", components: ["files", "a/b"], query: [("page", "2")])
    ///     url.text  // "myapp://files/a%2Fb?page=2"
    ///
    /// - Throws: ``RouteURLError`` when the scheme is not valid, or when a component is empty, `.`, `..` or has a control
    ///   character.
    package init(
        scheme: String = "", components: [String], query: [(key: String, value: String)] = [],
        fragment: String? = nil
    ) throws(RouteURLError) {
        var text =
            switch scheme.lowercased() {
            case "": "/"
            // Its first component is no host, which would lose its case.
            case "file": "file:///"
            default: scheme + "://"
            }
        text += components.map { PercentCoding.encode($0, for: .component) }.joined(separator: "/")
        if !query.isEmpty {
            text += "?"
            text += query.map {
                PercentCoding.encode($0.key, for: .query) + "=" + PercentCoding.encode($0.value, for: .query)
            }.joined(separator: "&")
        }
        if let fragment { text += "#" + PercentCoding.encode(fragment, for: .fragment) }
        try self.init(text)
    }

    @inline(__always)
    private static func parts(of text: String) throws(RouteURLFault) -> RouteURLParts {
        try text.utf8Span.span.withUnsafeBufferPointer { (bytes) throws(RouteURLFault) in
            try RouteURLParser.parse(bytes)
        }
    }

    @inline(__always)
    private init(text: String, untrimmed parts: RouteURLParts) {
        if parts.start == 0, Int(parts.end) == text.utf8.count {
            self.text = text
            self.parts = parts
        } else {
            let utf8 = text.utf8
            let start = utf8.index(utf8.startIndex, offsetBy: Int(parts.start))
            let end = utf8.index(utf8.startIndex, offsetBy: Int(parts.end))
            self.text = String(text[start..<end])
            var moved = parts
            moved.shift(by: parts.start)
            self.parts = moved
        }
    }

    /// The scheme in lower case; empty when there is none.
    public var scheme: String {
        parts.schemeLength > 0 ? withScheme { String(decoding: $0, as: UTF8.self) } : ""
    }

    /// Calls `body` with the bytes of the scheme in lower case.
    @inline(__always)
    func withScheme<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        withBytes(0, parts.schemeLength) { bytes in
            guard bytes.contains(where: { RouteScheme.lowercased($0) != $0 }) else { return body(bytes) }
            return bytes.map { RouteScheme.lowercased($0) }.withUnsafeBufferPointer(body)
        }
    }

    /// Whether that is the scheme; `name` is in lower case.
    func hasScheme(_ name: String) -> Bool {
        guard Int(parts.schemeLength) == name.utf8.count else { return false }
        return name.utf8Span.span.withUnsafeBufferPointer { name in
            withBytes(0, parts.schemeLength) { bytes in
                bytes.hasSameBytes(as: name)
                    || bytes.elementsEqual(name) { RouteScheme.lowercased($0) == $1 }
            }
        }
    }

    /// Whether the URL names a scheme.
    var hasScheme: Bool { parts.schemeLength > 0 }

    /// The first component, decoded; empty when there is none.
    ///
    /// It is the host where one is written. `scheme:///demo` and `/demo` have their first component from the path:
    /// that is what matching sees, so an allow-list of hosts sees the same.
    public var host: String {
        var first = ""
        forEachComponent { start, end in
            first = decoded(start, end)
            return false
        }
        return first
    }

    /// The host and the path's components, decoded, without empty ones.
    public var components: [String] {
        var all: [String] = []
        forEachComponent { start, end in
            all.append(decoded(start, end))
            return true
        }
        return all
    }

    /// The key-value pairs behind `?`.
    public var query: Query { Query(text: queryText ?? "") }

    /// What stands between `?` and `#`, as written; nil without a `?`.
    var queryText: String? {
        guard hasQuestionMark else { return nil }
        return withBytes(parts.queryStart, parts.queryEnd) { String(decoding: $0, as: UTF8.self) }
    }

    private var hasQuestionMark: Bool {
        withBytes(parts.pathEnd, parts.end) { $0.first == UInt8(ascii: "?") }
    }

    /// The text behind the first `#`, decoded; nil without one.
    public var fragment: String? {
        parts.fragmentStart == .max ? nil : decoded(parts.fragmentStart, parts.end)
    }

    /// The text behind the first `#`, as written; nil without one.
    var fragmentText: String? {
        guard parts.fragmentStart != .max else { return nil }
        return withBytes(parts.fragmentStart, parts.end) { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Bytes

    @inline(__always)
    func withBytes<Result>(
        _ start: UInt32, _ end: UInt32, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        text.utf8Span.span.withUnsafeBufferPointer { bytes in
            // The offsets come from parsing these very bytes.
            body(UnsafeBufferPointer(rebasing: bytes[Int(start)..<Int(max(start, end))]))
        }
    }

    func decoded(_ start: UInt32, _ end: UInt32) -> String {
        withBytes(start, end) { PercentCoding.decode($0) }
    }

    /// Calls `body` with the range of each component until it returns false.
    func forEachComponent(_ body: (_ start: UInt32, _ end: UInt32) -> Bool) {
        if parts.hostStart < parts.hostEnd, !body(parts.hostStart, parts.hostEnd) { return }
        withBytes(0, parts.pathEnd) { bytes in
            var start = Int(parts.pathStart)
            while start < bytes.count {
                var end = start
                while end < bytes.count, bytes[end] != UInt8(ascii: "/") { end &+= 1 }
                if end > start, !body(UInt32(truncatingIfNeeded: start), UInt32(truncatingIfNeeded: end)) {
                    return
                }
                start = end &+ 1
            }
        }
    }
}

extension RouteURL: Hashable {
    /// Whether both mean the same, however they are spelled.
    public static func == (one: RouteURL, other: RouteURL) -> Bool {
        if one.text == other.text { return true }
        return one.scheme == other.scheme && one.components == other.components && one.query == other.query
            && one.fragment == other.fragment
    }

    /// Feeds what equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(scheme)
        hasher.combine(components)
        hasher.combine(query)
        hasher.combine(fragment)
    }
}

extension RouteURL: LosslessStringConvertible {
    /// The text as it was written.
    public var description: String { text }

    /// Reads `description`; nil when it is not a URL.
    public init?(_ description: some StringProtocol) {
        do throws(RouteURLError) {
            let url = try RouteURL(String(description))
            self = url
        } catch {
            return nil
        }
    }
}
