import Waypost
import WaypostMessages

/// How a command ended.
struct Verdict: Sendable {
    var code: Code
    var result: JSONValue = .null
    var detail: String?
    var nearest: [String] = []
    /// The room that a failure is reported for.
    var room: FailureReport.Origin = .agent
    var url: String?

    static func ok(_ result: JSONValue = .null) -> Verdict { Verdict(code: .ok, result: result) }

    static let expired = Verdict(code: .expired, detail: "not started before its exp", room: .intake)

    static let canceled = Verdict(code: .canceled, detail: "canceled while it ran")

    static func late(after deadline: Int64) -> Verdict {
        Verdict(code: .deadline, detail: "the handler did not end within \(deadline) ms", room: .agent)
    }

    init(
        code: Code, result: JSONValue = .null, detail: String? = nil, nearest: [String] = [],
        room: FailureReport.Origin = .agent, url: String? = nil
    ) {
        self.code = code
        self.result = result
        self.detail = detail
        self.nearest = nearest
        self.room = room
        self.url = url
    }

    init(_ refusal: Rejection, room: FailureReport.Origin) {
        self.init(code: refusal.code, detail: refusal.detail, nearest: refusal.nearest, room: room)
    }

    /// What the sender canceled is answered, and no failure.
    var isFailure: Bool { code != .ok && code != .canceled }
}
