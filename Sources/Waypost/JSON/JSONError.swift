/// Why a text is not valid JSON, or is beyond a limit, and where.
public struct JSONError: Error, Hashable, Sendable {
    /// What was found.
    public enum Reason: Hashable, Sendable {
        /// The text is empty or only white space.
        case empty
        /// The text begins with a byte order mark, which RFC 8259 forbids to send.
        case byteOrderMark
        /// A string is not valid UTF-8.
        case notUTF8
        /// An object names the same member twice.
        case duplicateKey(String)
        /// Arrays and objects are nested deeper than the limit.
        case tooDeep(limit: Int)
        /// An object has more members than the limit.
        case tooManyKeys(limit: Int)
        /// A string is longer than the limit, in bytes.
        case stringTooLong(limit: Int)
        /// A string has more combining marks in a row than the limit.
        case tooManyMarks(limit: Int)
        /// The whole text is longer than the limit, in bytes.
        case tooLong(limit: Int)
        /// A `\u` escape is half of a surrogate pair.
        case loneSurrogate
        /// A number with a fraction or an exponent is beyond a double: `1e400`, or so near to 0 that it would be 0. The text
        /// is its place, like `params.id`.
        case numberOutOfRange(String)
        /// A number without fraction and exponent does not fit in 64 bits; the text is its place.
        case integerOutOfRange(String)
        /// A syntax error; the text says what was expected.
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
            "the key \"\(key.cut(to: 64))\" at byte \(offset) occurs twice in its object"
        case .tooDeep(let limit): "the values at byte \(offset) are nested deeper than \(limit) levels"
        case .tooManyKeys(let limit): "the object at byte \(offset) has more than \(limit) keys"
        case .stringTooLong(let limit): "the string at byte \(offset) is longer than \(limit) bytes"
        case .tooManyMarks(let limit):
            "the string at byte \(offset) has more than \(limit) combining marks in a row"
        case .tooLong(let limit): "the text is longer than \(limit) bytes"
        case .loneSurrogate: "the escape at byte \(offset) is half of a surrogate pair"
        case .numberOutOfRange(let place):
            "\(subject(place)) is a number beyond a double; send it as a string"
        case .integerOutOfRange(let place):
            "\(subject(place)) is an integer that does not fit in 64 bits; send it as a string"
        case .syntax(let expected): "expected \(expected) at byte \(offset)"
        }
    }

    private func subject(_ place: String) -> String {
        place.isEmpty ? "what is at byte \(offset)" : "\(place.cut(to: 128)), at byte \(offset),"
    }
}
