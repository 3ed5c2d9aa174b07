/// Why a service call has no result, with the wire protocol's code.
public struct ServiceFailure: Error, Hashable, Sendable {
    /// The code, for instance 404 `NO_SERVICE`.
    public var code: Code
    /// One sentence with the subject and what was found.
    public var detail: String
    /// Similar names, for 404; at most three.
    public var nearest: [String]
    /// For 422: the argument that does not fit.
    public var argument: String?

    /// A failure by its parts.
    public init(_ code: Code, _ detail: String, nearest: [String] = [], argument: String? = nil) {
        self.code = code
        self.detail = detail
        self.nearest = nearest
        self.argument = argument
    }

    /// 404 `NO_SERVICE`.
    static func noService(_ service: String, nearest: [String]) -> ServiceFailure {
        ServiceFailure(
            .noService, "no service \(service.cut(to: 128)) is exposed",
            nearest: nearest)
    }

    /// 422 `BAD_FIELD`, naming the argument or field.
    static func badField(_ detail: String, argument: String? = nil) -> ServiceFailure {
        ServiceFailure(.badField, detail, argument: argument)
    }

    /// 500 `HANDLER_FAILED`.
    static func failed(_ detail: String) -> ServiceFailure {
        ServiceFailure(.handlerFailed, detail)
    }

    /// 408 `DEADLINE`.
    static func deadline(_ subject: String, _ limit: Duration?) -> ServiceFailure {
        ServiceFailure(
            .deadline,
            "\(subject) did not end within \(limit.map { "\($0)" } ?? "its time")")
    }

    /// 499 `CANCELED`.
    static func canceled(_ subject: String) -> ServiceFailure {
        ServiceFailure(.canceled, "\(subject) was cancelled")
    }
}

extension ServiceFailure: CustomStringConvertible {
    /// Code, name and sentence.
    public var description: String { "\(code): \(detail)" }
}
