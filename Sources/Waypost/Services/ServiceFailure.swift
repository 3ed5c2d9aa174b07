/// Why a service call gave no result, with the wire protocol's code.
public struct ServiceFailure: Error, Hashable, Sendable {
    /// The code: 403, 404, 408, 422, 499 or 500.
    public var code: Int
    /// The code's name, for instance `NO_SERVICE`.
    public var name: String
    /// One sentence with the subject and what was found.
    public var detail: String
    /// For 404: names that may have been meant, at most three.
    public var nearest: [String]
    /// For 422: the argument that does not fit.
    public var argument: String?

    /// A failure by its parts.
    public init(code: Int, name: String, detail: String, nearest: [String] = [], argument: String? = nil) {
        self.code = code
        self.name = name
        self.detail = detail
        self.nearest = nearest
        self.argument = argument
    }

    /// 404 `NO_SERVICE`.
    static func noService(_ service: String, nearest: [String]) -> ServiceFailure {
        ServiceFailure(
            code: 404, name: "NO_SERVICE", detail: "no service \(service.prefix(128)) is exposed",
            nearest: nearest)
    }

    /// 422 `BAD_FIELD`, naming the argument or field.
    static func badField(_ detail: String, argument: String? = nil) -> ServiceFailure {
        ServiceFailure(code: 422, name: "BAD_FIELD", detail: detail, argument: argument)
    }

    /// 500 `HANDLER_FAILED`.
    static func failed(_ detail: String) -> ServiceFailure {
        ServiceFailure(code: 500, name: "HANDLER_FAILED", detail: detail)
    }

    /// 408 `DEADLINE`.
    static func deadline(_ subject: String, _ limit: Duration?) -> ServiceFailure {
        ServiceFailure(
            code: 408, name: "DEADLINE",
            detail: "\(subject) did not end within \(limit.map { "\($0)" } ?? "its time")")
    }

    /// 499 `CANCELED`.
    static func canceled(_ subject: String) -> ServiceFailure {
        ServiceFailure(code: 499, name: "CANCELED", detail: "\(subject) was cancelled")
    }
}

extension ServiceFailure: CustomStringConvertible {
    /// Code, name and sentence.
    public var description: String { "\(code) \(name): \(detail)" }
}
