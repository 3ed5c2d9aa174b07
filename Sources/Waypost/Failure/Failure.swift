/// Why something was not done, with a code of the wire protocol or of the application: one value that is thrown,
/// returned and sent.
///
/// Handlers, exposed methods, interceptors, hooks and the set-up of modules all throw it to choose what the caller gets:
///
///     throw Failure(.noPaper, "tray 2 is empty", payload: ["tray": 2])
///
/// ``Code/isRejection`` tells a rejection, of which nothing was begun, from what failed while it ran. Of any other error that
/// they throw the caller gets 500 `HANDLER_FAILED`.
public struct Failure: Error, Sendable, Hashable {
    /// The code, for instance 403 `NOT_ALLOWED`.
    public var code: Code
    /// One sentence with the subject and what was found; a backend gets it too.
    public var detail: String
    /// Similar names, for 404; at most three.
    public var nearest: [String]
    /// What the application says to programs beside the sentence; a backend gets it with the reply.
    public var payload: JSONValue?

    /// A failure by its parts.
    public init(_ code: Code, _ detail: String, nearest: [String] = [], payload: JSONValue? = nil) {
        self.code = code
        self.detail = detail
        self.nearest = nearest
        self.payload = payload
    }
}

extension Failure: CustomStringConvertible {
    /// Code and sentence.
    public var description: String { "\(code): \(detail)" }
}

extension Failure {
    static func noService(_ name: String, nearest: [String] = []) -> Failure {
        Failure(.noService, "no service \(name.cut(to: 128)) is exposed", nearest: nearest)
    }
    package static func badField(_ detail: String) -> Failure { Failure(.badField, detail) }
    static func notAllowed(_ detail: String) -> Failure { Failure(.notAllowed, detail) }
    static func tooLarge(_ detail: String) -> Failure { Failure(.tooLarge, detail) }
    static func cycle(_ detail: String) -> Failure { Failure(.cycle, detail) }
    static func chain(_ detail: String) -> Failure { Failure(.chain, detail) }
    static func handlerFailed(_ detail: String) -> Failure { Failure(.handlerFailed, detail) }
    static func canceled(_ subject: String) -> Failure { Failure(.canceled, "\(subject) was cancelled") }
    static func deadline(_ subject: String, _ limit: Duration?) -> Failure {
        Failure(.deadline, "\(subject) did not end within \(limit.map { "\($0)" } ?? "its time")")
    }
}
