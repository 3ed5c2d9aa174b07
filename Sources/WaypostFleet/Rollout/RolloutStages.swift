import Waypost
package import WaypostMessages

/// Which agents each stage of a roll-out has: the forecast and the run ask the same.
///
/// A stage that adds no agent to the one before would show what that has shown: it is left out, and the next that adds
/// one comes in its place. The first one is never left out: the next may be everyone.
package struct RolloutStages: Sendable {
    private let stages: [RolloutStage]
    private let include: Set<String>
    private let exclude: Set<String>
    /// The agents that are online, by their numbers.
    private let online: [(name: String, number: UInt64)]

    /// A stage that comes.
    package struct Entry: Sendable, Hashable {
        /// Its place among all.
        package let place: Int
        /// The number below which an agent's own chooses it.
        package let below: UInt64
        /// The agents that are online and chosen, by their numbers.
        package let agents: [String]
    }

    package init(
        _ stages: [RolloutStage], of fleet: RolloutFleet, include: some Sequence<String>,
        exclude: some Sequence<String>
    ) {
        (self.stages, self.include, self.exclude) = (stages, Set(include), Set(exclude))
        online = fleet.online.map { ($0.key, $0.value.number) }
            .sorted { ($0.number, $0.name) < ($1.number, $1.name) }
    }

    /// Those of a roll-out that runs.
    package init(of control: RolloutControl, in fleet: RolloutFleet) {
        self.init(control.stages, of: fleet, include: control.include, exclude: control.exclude)
    }

    /// The first stage from a place on that adds an agent; nil when none does.
    ///
    /// - Parameter lowest: The number of the stage before; 0 when there was none.
    package func entry(from place: Int, above lowest: UInt64) -> Entry? {
        let before = lowest == 0 ? nil : chosen(below: lowest).count
        let numbers = online.filter { !exclude.contains($0.name) }.map(\.number)
        for place in stages.indices.dropFirst(max(0, place)) {
            let below = stages[place].below(online: numbers, atLeast: lowest)
            let agents = chosen(below: below)
            if before.map({ agents.count > $0 }) ?? true {
                return Entry(place: place, below: below, agents: agents)
            }
        }
        return nil
    }

    /// All that come, one after another.
    package var entries: [Entry] {
        var entries: [Entry] = []
        while let next = entry(
            from: entries.last.map { $0.place + 1 } ?? 0, above: entries.last?.below ?? 0)
        {
            entries.append(next)
        }
        return entries
    }

    /// What is not as one may expect who has named the stages, each a sentence.
    package var notices: [String] {
        let places = Set(entries.map(\.place))
        let count = online.count { !exclude.contains($0.name) }
        let large = stages.filter { if case .count(let wanted) = $0 { wanted > count } else { false } }
        let left = stages.indices.filter { !places.contains($0) }.map { stages[$0].description }
        let all = count == 1 ? "the only agent that is online" : "all \(count) agents that are online"
        return large.map { "stage \($0) is \(all)" }
            + (left.isEmpty
                ? []
                : [
                    "\(left.count == 1 ? "stage" : "stages") \(left.joined(separator: ", ")) would add no agent, "
                        + "and \(left.count == 1 ? "is" : "are") left out"
                ])
    }

    private func chosen(below: UInt64) -> [String] {
        online.filter { ($0.number < below || include.contains($0.name)) && !exclude.contains($0.name) }
            .map(\.name)
    }
}
