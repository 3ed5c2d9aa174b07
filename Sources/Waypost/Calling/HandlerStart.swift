/// What is about to run: the handler of a route, or an exposed method of a service.
package struct HandlerStart: Sendable {
    /// Whether it was declared that running it twice is the same as running it once.
    package var isIdempotent: Bool
    /// The route's pattern, or `Service.method(label:)`.
    package var subject: String

    /// A start by its parts.
    package init(isIdempotent: Bool, subject: String) {
        self.isIdempotent = isIdempotent
        self.subject = subject
    }
}
