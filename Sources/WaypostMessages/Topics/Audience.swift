/// The receivers of a message to agents: one agent, or all agents of a group.
package enum Audience: Sendable, Hashable, CustomStringConvertible {
    case agent(String)
    case group(String)

    /// The group that every agent is in.
    package static let all = Audience.group("all")

    /// Reads the level of a topic: a name, or `@` and a name.
    ///
    /// Nil when the name breaks the rule of ``Name``.
    package init?(_ level: String) {
        if level.utf8.first == UInt8(ascii: "@") {
            let group = level.dropFirst()
            guard Name.isValid(group) else { return nil }
            self = .group(String(group))
        } else {
            guard Name.isValid(level) else { return nil }
            self = .agent(level)
        }
    }

    /// The level in a topic, which is also the `aud` of a map: `kiosk-7` or `@fleet`.
    package var description: String {
        switch self {
        case .agent(let name): name
        case .group(let name): "@\(name)"
        }
    }
}
