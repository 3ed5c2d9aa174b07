/// The form of a W3C `traceparent` (Trace Context, 3.2).
package enum TraceParent {
    /// The name of the user property that carries it.
    package static let property = "traceparent"

    /// Whether a text has the form `00-` 32 hex digits `-` 16 hex digits `-` 2 hex digits.
    ///
    /// Anything else is not forwarded: a text from outside could make the properties impossible to send.
    package static func isValid(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return parts.map(\.count) == [2, 32, 16, 2]
            && parts.joined().allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}
