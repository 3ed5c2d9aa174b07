import Waypost
package import WaypostMessages

/// Which agents are meant: some by name, those of a group, those whose name fits a regular expression, or all.
public struct AgentSelection: Sendable {
    /// Those that are named; empty for none.
    public var names: Set<String>
    /// The group whose members are meant; nil for none.
    public var group: String?
    package var pattern: TextPattern?

    /// Some by name and those of a group; without either all.
    public init(names: some Sequence<String> = [], group: String? = nil) {
        self.names = Set(names)
        self.group = group
    }

    /// All agents.
    public static let all = AgentSelection()

    /// The only agent that is meant, by its name.
    package var single: String? { names.count == 1 && group == nil && pattern == nil ? names.first : nil }
    package var isAll: Bool { names.isEmpty && group == nil && pattern == nil }
    /// Whether all that are meant are named.
    package var isByName: Bool { !names.isEmpty && group == nil && pattern == nil }

    /// Whether an agent is meant.
    ///
    /// - Parameter groups: those that it is in, as far as they are known.
    package func includes(_ agent: String, in groups: [String]?) -> Bool {
        isAll || names.contains(agent) || pattern?.isIn(agent) ?? false
            || group.map { Audience.group($0) == .all || groups?.contains($0) ?? false } ?? false
    }

    /// Those of a roster that are meant.
    package func agents(in roster: Roster) -> [String] {
        let known = roster.members.filter { includes($0.key, in: $0.value.groups) }.map(\.key)
        // Who is named may be there without having been read.
        return roster.gap == nil || !isByName ? known.sorted() : Set(known).union(names).sorted()
    }

    /// What is wrong with it, as a sentence, when the broker knows these agents; nil for nothing.
    package func fault(in roster: Roster) -> Wording? {
        guard roster.gap == nil else { return nil }
        let known = Array(roster.members.keys)
        for name in names.sorted() where roster.members[name] == nil {
            return "there is no agent \(name) at this broker"
                + NearestNames.advice(NearestNames.find(name, among: known))
        }
        if let group, !roster.groups.contains(group) {
            return "no agent at this broker is in a group \(group)"
                + Wording(NearestNames.question(NearestNames.find(group, among: Array(roster.groups))))
        }
        return pattern != nil && agents(in: roster).isEmpty
            ? "no agent name at this broker matches\(shell: "; see: waypost agents")" : nil
    }
}

extension NearestNames {
    /// `; did you mean A?`, and for the shell `; did you mean A? See: waypost agents`.
    package static func advice(_ names: [String]) -> Wording {
        "\(question(names))\(shell: names.isEmpty ? "; see: waypost agents" : " See: waypost agents")"
    }
}
