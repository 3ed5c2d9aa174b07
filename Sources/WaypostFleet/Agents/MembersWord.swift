/// What the members of a group say of themselves, where any one of them may lie: no order for the others is built on what
/// one alone says.
package struct MembersWord<Value: Hashable & Sendable>: Sendable {
    /// What all say who say anything, but for one at most.
    package let value: Value
    /// Who says so, by name.
    package let agents: [String]
    /// Which one says something else; nil when none does.
    package let dissenter: String?

    /// Nil when two say something else, or when one alone says anything and others were heard.
    ///
    /// - Parameter heard: How many members said anything at all.
    package init?(_ said: [(agent: String, value: Value)], of heard: Int) {
        let groups = Dictionary(grouping: said, by: \.value).values.sorted { $0.count > $1.count }
        guard let most = groups.first, most.count > 1 || heard == 1, most.count + 1 >= said.count else {
            return nil
        }
        value = most[0].value
        agents = most.map(\.agent).sorted()
        dissenter = groups.dropFirst().first?.first?.agent
    }
}

/// Numbers that members of a group say of themselves, such as the revision in force.
package struct MembersNumbers: Sendable {
    /// The highest number of each member.
    package var claims: [String: Int64]

    package init(_ claims: [String: Int64] = [:]) { self.claims = claims }

    /// The number in the middle of those above what is known: what one of them claims beyond it is not believed; nil when
    /// none is above.
    private func middle(above known: Int64) -> (number: Int64, count: Int)? {
        let above = claims.values.filter { $0 > known }.sorted()
        return above.isEmpty ? nil : (above[(above.count - 1) / 2], above.count)
    }

    /// The number from which on nothing is sent to them: at least half claim to be above what is known; nil where fewer do.
    package func warning(above known: Int64) -> Int64? {
        middle(above: known).flatMap { $0.count * 2 >= claims.count ? $0.number : nil }
    }

    /// The number that an order may be built on: more than half claim to be above what is known; else what is known.
    package func newest(above known: Int64) -> Int64 {
        middle(above: known).flatMap { $0.count * 2 > claims.count ? $0.number : nil } ?? known
    }

    /// Who claims more than that, by name.
    package func beyond(_ number: Int64) -> [String] { claims.filter { $0.value > number }.keys.sorted() }
}
