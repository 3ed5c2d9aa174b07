/// Why a text is not valid JSON, or is beyond a limit, and where.
public struct JSONError: Error, Hashable, Sendable {
    /// What was found; the error's description says it in words.
    package enum Reason: Hashable, Sendable {
        case empty, byteOrderMark, notUTF8
        case duplicateKey(String)
        case tooDeep(limit: Int)
        case tooManyKeys(limit: Int)
        /// In bytes, as ``tooLong(limit:)``.
        case stringTooLong(limit: Int)
        case tooManyMarks(limit: Int)
        case tooLong(limit: Int)
        case loneSurrogate
        /// A number with a fraction or an exponent is beyond a double: `1e400`, or so near to 0 that it would be 0. The text
        /// is its place, like `params.id`.
        case numberOutOfRange(String)
        /// A number without fraction and exponent does not fit in 64 bits; the text is its place.
        case integerOutOfRange(String)
        /// The text says what was expected.
        case syntax(String)
    }

    /// What was found.
    package var reason: Reason
    /// Where, in bytes from the start of the text.
    public var offset: Int

    /// An error at a place.
    init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONError: CustomStringConvertible {
    /// One sentence with the place.
    public var description: String { text(" at byte \(offset)") }

    /// The same without the place, for a text that names line and column.
    package var textWithoutPlace: String { text("") }

    private func text(_ place: String) -> String {
        switch reason {
        case .empty: "the text is empty"
        case .byteOrderMark: "the text begins with a byte order mark"
        case .notUTF8: "the string\(place) is not valid UTF-8"
        case .duplicateKey(let key):
            "the key \"\(key.cut(to: 64))\"\(place) occurs twice in its object"
        case .tooDeep(let limit): "the values\(place) are nested deeper than \(limit) levels"
        case .tooManyKeys(let limit): "the object\(place) has more than \(limit) keys"
        case .stringTooLong(let limit): "the string\(place) is longer than \(limit) bytes"
        case .tooManyMarks(let limit):
            "the string\(place) has more than \(limit) combining marks in a row"
        case .tooLong(let limit): "the text is longer than \(limit) bytes"
        case .loneSurrogate: "the escape\(place) is half of a surrogate pair"
        case .numberOutOfRange(let path):
            "\(subject(path, place)) is a number that is too large or too near to 0 for a double; send it as a string"
        case .integerOutOfRange(let path):
            "\(subject(path, place)) is an integer that does not fit in 64 bits; send it as a string"
        case .syntax(let expected): "expected \(expected)\(place)"
        }
    }

    private func subject(_ path: String, _ place: String) -> String {
        switch (path.isEmpty, place.isEmpty) {
        case (true, true): "this"
        case (true, false): "what is\(place)"
        case (false, true): path.cut(to: 128)
        case (false, false): "\(path.cut(to: 128)),\(place),"
        }
    }
}
