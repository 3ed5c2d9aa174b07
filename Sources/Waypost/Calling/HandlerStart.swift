/// What is about to run: the handler of a route, or an exposed method of a service.
public struct HandlerStart: Sendable {
    /// Whether it was declared that running it twice is the same as running it once.
    public var isIdempotent: Bool
    /// The route's pattern, or `Service.method(label:)`.
    public var subject: String

    /// A start by its parts.
    public init(isIdempotent: Bool, subject: String) {
        self.isIdempotent = isIdempotent
        self.subject = subject
    }
}
