/// Why something was refused before it ran, with the wire protocol's code.
public struct Rejection: Error, Sendable, Hashable {
    /// The code, for instance 403 `NOT_ALLOWED`.
    public var code: Code
    /// One sentence with the subject and what was found.
    public var detail: String
    /// Similar names, for 404; at most three.
    public var nearest: [String]

    /// A rejection by its parts.
    public init(_ code: Code, _ detail: String, nearest: [String] = []) {
        self.code = code
        self.detail = detail
        self.nearest = nearest
    }

    static func badField(_ detail: String) -> Rejection {
        Rejection(.badField, detail)
    }
    static func notAllowed(_ detail: String) -> Rejection {
        Rejection(.notAllowed, detail)
    }
    static func tooLarge(_ detail: String) -> Rejection {
        Rejection(.tooLarge, detail)
    }
    static func cycle(_ detail: String) -> Rejection { Rejection(.cycle, detail) }
    static func chain(_ detail: String) -> Rejection { Rejection(.chain, detail) }
}

/// Why an open failed while it ran.
public struct RouteFailure: Error, Sendable, Hashable {
    /// The code: 408 `DEADLINE`, 499 `CANCELED` or 500 `HANDLER_FAILED`.
    public var code: Code
    /// One sentence with the subject and what was found.
    public var detail: String

    /// A failure by its parts.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    static func deadline(_ subject: String, _ limit: Duration?) -> RouteFailure {
        RouteFailure(
            .deadline,
            "\(subject) did not end within \(limit.map { "\($0)" } ?? "its time")")
    }
    static func canceled(_ subject: String) -> RouteFailure {
        RouteFailure(.canceled, "\(subject) was cancelled")
    }
    static func handler(_ detail: String) -> RouteFailure {
        RouteFailure(.handlerFailed, detail)
    }
}
