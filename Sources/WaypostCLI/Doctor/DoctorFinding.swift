import Waypost

/// What one check of `waypost doctor` found.
struct DoctorFinding: Sendable {
    /// In the order in which they are shown.
    enum Status: String, Sendable, CaseIterable {
        case failed
        /// It works, but someone should look at it.
        case warning
        /// It could not be checked.
        case skipped
        case ok
        /// Good to know, and nothing that has to be done.
        case note
    }

    var check: String
    var status: Status
    var found: String
    /// What to do about it.
    var advice: String?
    /// The agent that it is about; nil for what is about the broker, the sender or this machine.
    var agent: String?
    /// What is said of this agent alone, such as since when; it does not keep equal findings apart.
    var remark: String?

    init(
        _ check: String, _ status: Status, _ found: String, advice: String? = nil, agent: String? = nil,
        remark: String? = nil
    ) {
        self.check = check
        self.status = status
        self.found = found
        self.advice = advice
        self.agent = agent
        self.remark = remark
    }

    var json: JSONValue {
        [
            "check": .string(check), "status": .string(status.rawValue),
            "agent": agent.map(JSONValue.string) ?? .null,
            "found": .string(found + (remark.map { " (\($0))" } ?? "")),
            "advice": advice.map(JSONValue.string) ?? .null,
        ]
    }
}
