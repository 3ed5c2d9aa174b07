import Waypost

/// What one check of `waypost doctor` found.
struct DoctorFinding: Sendable {
    enum Status: String, Sendable {
        case ok
        /// It works, but someone should look at it.
        case warning
        case failed
        /// It could not be checked.
        case skipped
    }

    var check: String
    var status: Status
    var found: String
    /// What to do about it.
    var advice: String?

    init(_ check: String, _ status: Status, _ found: String, advice: String? = nil) {
        self.check = check
        self.status = status
        self.found = found
        self.advice = advice
    }

    /// One line for people, and one more with what to do.
    func lines(_ style: Style) -> [TerminalText] {
        let name = check + String(repeating: " ", count: max(0, 12 - check.count))
        let mark =
            switch status {
            case .ok: style.green("ok     ")
            case .warning: style.yellow("warning")
            case .failed: style.red("failed ")
            case .skipped: style.dim("skipped")
            }
        let first: TerminalText = "\(mark)  \(name) \(found)"
        return [first] + (advice.map { ["         \(String(repeating: " ", count: 12)) → \($0)"] } ?? [])
    }

    var json: JSONValue {
        [
            "check": .string(check), "status": .string(status.rawValue), "found": .string(found),
            "advice": advice.map(JSONValue.string) ?? .null,
        ]
    }
}
