package import Waypost

extension JSONError {
    /// The rejection of a payload that can't be read: 413 when it exceeds a limit, else 400.
    package var rejection: Rejection {
        switch reason {
        case .tooDeep, .tooManyKeys, .stringTooLong, .tooManyMarks, .tooLong:
            Rejection(.tooLarge, description)
        case .empty, .byteOrderMark, .notUTF8, .duplicateKey, .loneSurrogate, .numberOutOfRange, .syntax:
            Rejection(.badJSON, description)
        }
    }
}
