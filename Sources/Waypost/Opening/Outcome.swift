/// How an open ended; every open ends in exactly one of these.
public enum Outcome: Sendable, Hashable {
    /// A destination took the URL.
    case opened
    /// A service method ran; its result.
    case served(JSONValue)
    /// An interceptor stopped it.
    case intercepted(by: String, reason: String)
    /// No route takes the URL; the patterns that are near, at most three.
    case notFound(nearest: [String])
    /// It was refused before anything ran.
    case rejected(Rejection)
    /// What ran failed, took too long, or was cancelled.
    case failed(RouteFailure)
    /// No route took the URL, and the one of its `route_fallback_url` was opened.
    case fellBack(to: String)
}

/// Why an open was refused, with the wire protocol's code.
public struct Rejection: Error, Sendable, Hashable {
    /// The code: 403, 404, 413 or 422.
    public var code: Int
    /// The code's name, for instance `NOT_ALLOWED`.
    public var name: String
    /// One sentence with the subject and what was found.
    public var detail: String
    /// For 404: names that may have been meant.
    public var nearest: [String]

    /// A rejection by its parts.
    public init(code: Int, name: String, detail: String, nearest: [String] = []) {
        self.code = code
        self.name = name
        self.detail = detail
        self.nearest = nearest
    }

    static func badField(_ detail: String) -> Rejection {
        Rejection(code: 422, name: "BAD_FIELD", detail: detail)
    }
    static func notAllowed(_ detail: String) -> Rejection {
        Rejection(code: 403, name: "NOT_ALLOWED", detail: detail)
    }
    static func tooLarge(_ detail: String) -> Rejection {
        Rejection(code: 413, name: "TOO_LARGE", detail: detail)
    }
    static func cycle(_ detail: String) -> Rejection { Rejection(code: 422, name: "CYCLE", detail: detail) }
    static func chain(_ detail: String) -> Rejection { Rejection(code: 422, name: "CHAIN", detail: detail) }
}

/// Why what ran did not end well.
public struct RouteFailure: Error, Sendable, Hashable {
    /// The code: 408, 499 or 500.
    public var code: Int
    /// `DEADLINE`, `CANCELED` or `HANDLER_FAILED`.
    public var name: String
    /// One sentence with the subject and what was found.
    public var detail: String

    /// A failure by its parts.
    public init(code: Int, name: String, detail: String) {
        self.code = code
        self.name = name
        self.detail = detail
    }

    static func deadline(_ subject: String, _ limit: Duration?) -> RouteFailure {
        RouteFailure(
            code: 408, name: "DEADLINE",
            detail: "\(subject) did not end within \(limit.map { "\($0)" } ?? "its time")")
    }
    static func canceled(_ subject: String) -> RouteFailure {
        RouteFailure(code: 499, name: "CANCELED", detail: "\(subject) was cancelled")
    }
    static func handler(_ detail: String) -> RouteFailure {
        RouteFailure(code: 500, name: "HANDLER_FAILED", detail: detail)
    }
}
