/// Why a text is not the JSON we read, and where.
public struct JSONError: Error, Hashable, Sendable {
    /// What was found.
    public enum Reason: Hashable, Sendable {
        /// Nothing but white space.
        case empty
        /// The text begins with a byte order mark, which RFC 8259 forbids to send.
        case byteOrderMark
        /// A string is not valid UTF-8.
        case notUTF8
        /// An object names the same member twice.
        case duplicateKey(String)
        /// Arrays and objects lie deeper in each other than the limit.
        case tooDeep(limit: Int)
        /// An object has more members than the limit.
        case tooManyKeys(limit: Int)
        /// A string is longer than the limit, in bytes.
        case stringTooLong(limit: Int)
        /// The whole text is longer than the limit, in bytes.
        case tooLong(limit: Int)
        /// A `\u` escape is half of a surrogate pair.
        case loneSurrogate
        /// A number is too large for a double.
        case numberOutOfRange
        /// Something else than the grammar allows; the text says what was expected.
        case syntax(String)
    }

    /// What was found.
    public var reason: Reason
    /// Where, in bytes from the start of the text.
    public var offset: Int

    /// An error at a place.
    package init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONError: CustomStringConvertible {
    /// One sentence with the place.
    public var description: String {
        switch reason {
        case .empty: "the text is empty"
        case .byteOrderMark: "the text begins with a byte order mark"
        case .notUTF8: "the string at byte \(offset) is not valid UTF-8"
        case .duplicateKey(let key):
            "the key \"\(key.prefix(64))\" at byte \(offset) stands twice in its object"
        case .tooDeep(let limit): "at byte \(offset) values lie deeper than \(limit) levels"
        case .tooManyKeys(let limit): "at byte \(offset) an object has more than \(limit) keys"
        case .stringTooLong(let limit): "the string at byte \(offset) is longer than \(limit) bytes"
        case .tooLong(let limit): "the text is longer than \(limit) bytes"
        case .loneSurrogate: "the escape at byte \(offset) is half of a surrogate pair"
        case .numberOutOfRange: "the number at byte \(offset) is too large"
        case .syntax(let expected): "expected \(expected) at byte \(offset)"
        }
    }
}
