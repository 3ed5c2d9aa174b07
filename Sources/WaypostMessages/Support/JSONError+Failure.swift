package import Waypost

extension JSONError {
    /// The rejection of a payload that can't be read: 413 when it exceeds a limit, 422 when a number of it can't be kept
    /// as it is, else 400.
    package var rejection: Failure {
        switch reason {
        case .tooDeep, .tooManyKeys, .stringTooLong, .tooManyMarks, .tooLong:
            Failure(.tooLarge, description)
        case .integerOutOfRange, .numberOutOfRange: Failure(.badField, description)
        case .empty, .byteOrderMark, .notUTF8, .duplicateKey, .loneSurrogate, .syntax:
            Failure(.badJSON, description)
        }
    }
}
