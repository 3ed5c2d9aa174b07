/// The form of a W3C `tracestate` (Trace Context, 3.3).
package enum TraceState {
    /// The name of the field of a command, and of the user property that carries it.
    package static let property = "tracestate"
    /// A longer one need not be passed on (Trace Context, 3.3.1.5).
    private static let longest = 512
    private static let members = 32

    /// A valid one out of a text from outside: up to 32 pairs `key=value`, at most 512 visible characters.
    package static func valid(_ text: String?) -> String? {
        guard let text, !text.isEmpty, text.utf8.count <= longest,
            text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return nil }
        let pairs = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        let areWhole = pairs.allSatisfy { pair in
            pair.firstIndex(of: UInt8(ascii: "=")).map { $0 != pair.startIndex } ?? false
        }
        return areWhole && pairs.count <= members ? text : nil
    }
}

/// The form of a W3C `traceparent` (Trace Context, 3.2).
package enum TraceParent {
    /// The name of the user property that carries it.
    package static let property = "traceparent"
    private static let length = 55

    /// A valid one out of a text from outside: `00-` 32 hex digits `-` 16 hex digits `-` 2 hex digits.
    ///
    /// Of a version that is not known yet it is the part that this one has (Trace Context, 4.3). Nil for anything else,
    /// which is not passed on: a text from outside could make the properties impossible to send.
    package static func valid(_ text: String?) -> String? {
        guard let text, text.utf8.count <= 512 else { return nil }
        let bytes = Array(text.utf8)
        let parts = bytes.prefix(length).split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 32, 16, 2],
            parts.joined().allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }),
            parts[0].elementsEqual("00".utf8)
                ? bytes.count == length : bytes.count == length || bytes[length] == UInt8(ascii: "-"),
            !parts[0].elementsEqual("ff".utf8), [parts[1], parts[2]].allSatisfy({ $0.contains { $0 != 48 } })
        else { return nil }
        return String(decoding: bytes.prefix(length), as: UTF8.self)
    }
}
