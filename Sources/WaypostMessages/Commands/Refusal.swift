/// Why a message from outside is not acted on: a verdict that becomes a reply, a failure report and a log line.
package struct Refusal: Error, Sendable, Hashable {
    package var code: Code
    /// A sentence for people: what was found, and where.
    package var detail: String
    /// Names that exist and are close to the one asked for, at most three.
    package var nearest: [String]

    package init(_ code: Code, _ detail: String, nearest: [String] = []) {
        self.code = code
        self.detail = detail
        self.nearest = nearest
    }
}
