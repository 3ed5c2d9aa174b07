import Waypost

/// One check of an agent's health: what was checked, what was found, and what to do.
package struct HealthCheck: Sendable, Hashable {
    /// How it came out.
    package enum State: String, Sendable, Hashable, CaseIterable {
        case ok, failed
        /// It was not made: nothing is known, and so it is not good either.
        case unknown
    }

    package var name: String
    package var state: State
    /// Since when it is so, by the agent's clock in milliseconds since 1970; nil from an older agent.
    package var since: Int64?
    /// What was found.
    package var detail: String
    /// What to do; nil when there is nothing to do.
    package var advice: String?
    /// Whether it will be known in a moment; it is not on the wire.
    package var isPending = false

    /// - Parameter advice: what to do; that of the ``HealthCheckGuide`` unless given.
    package init(
        _ name: String, _ state: State, _ detail: String, since: Int64? = nil, advice: String? = nil
    ) {
        self.name = name
        self.state = state
        self.since = since
        self.detail = detail
        self.advice = advice ?? (state == .ok ? nil : HealthCheckGuide.find(name)?.advice)
    }

    /// A check that was made.
    ///
    /// - Parameters:
    ///   - problem: what is wrong; nil when nothing is.
    ///   - ok: the detail when nothing is wrong.
    package init(_ name: String, problem: String?, ok: String) {
        self.init(name, problem == nil ? .ok : .failed, problem ?? ok)
    }

    /// A check that was not made.
    ///
    /// - Parameter isPending: whether it will be known in a moment.
    package static func unknown(_ name: String, _ reason: String, isPending: Bool = false) -> HealthCheck {
        var check = HealthCheck(name, .unknown, reason)
        check.isPending = isPending
        if isPending { check.advice = nil }
        return check
    }

    /// A check as it came, read leniently; nil for what is none.
    ///
    /// An older agent has no `state`, and says of what it does not know that it is ok.
    init?(_ json: JSONValue) {
        guard let name = json["name"]?.stringValue else { return nil }
        let detail = json["detail"]?.stringValue ?? ""
        let state =
            json["state"]?.stringValue.map { State(rawValue: $0) ?? .unknown }
            ?? (json["ok"]?.boolValue != true
                ? .failed : detail == "pending" || detail.hasPrefix("not known") ? .unknown : .ok)
        self.init(
            name, state, detail, since: json["since"]?.time,
            advice: json["advice"]?.stringValue)
        // It says itself whether there is something to do.
        if json["state"] != nil { advice = json["advice"]?.stringValue }
    }

    /// `ok` is for older readers, which know no third state.
    var json: JSONValue {
        var members: [String: JSONValue] = [
            "name": .string(name), "state": .string(state.rawValue), "ok": .bool(state != .failed),
            "detail": .string(detail),
        ]
        if let since { members["since"] = .int(since) }
        if let advice { members["advice"] = .string(advice) }
        return .object(members)
    }
}

extension [HealthCheck] {
    /// `red` when one failed, `unknown` when one is not known, else `green`.
    var status: String {
        contains { $0.state == .failed } ? "red" : contains { $0.state == .unknown } ? "unknown" : "green"
    }
}
