import Waypost
import WaypostMessages

extension MapObjection {
    /// What speaks against a map by what it would do at agents.
    static func found(in diffs: [MapDiff], unknown: [MapPlan.Unknown]) -> [MapObjection] {
        [unchecked(diffs, unknown), older(diffs, unknown), refused(diffs), inactive(diffs)].compactMap(\.self)
    }

    private static func unchecked(_ diffs: [MapDiff], _ unknown: [MapPlan.Unknown]) -> MapObjection? {
        let blind = diffs.filter { $0.refusal == nil && $0.inactive == nil }
            .map { MapPlan.Unknown(agents: $0.agents, reason: "the broker keeps no contract of them") }
        let all = unknown + blind
        guard !all.isEmpty else { return nil }
        let texts = all.map { "of \($0.agents.named): \($0.reason)" }
        return MapObjection(
            kind: .unchecked, text: "it is not known what it would do " + texts.joined(separator: "; "))
    }

    /// At half of them at least: what a few say of themselves keeps no map from the others.
    private static func older(_ diffs: [MapDiff], _ unknown: [MapPlan.Unknown]) -> MapObjection? {
        let outdated = diffs.filter {
            $0.refusal.map { [Code.rollback, .equivocation].contains($0.code) } ?? false
        }
        let (agents, all) = (outdated.flatMap(\.agents), diffs.flatMap(\.agents) + unknown.flatMap(\.agents))
        guard let refusal = outdated.first?.refusal, agents.count * 2 >= all.count else { return nil }
        return MapObjection(kind: .older, text: "at \(agents.named) \(refusal.detail)")
    }

    private static func refused(_ diffs: [MapDiff]) -> MapObjection? {
        let refusals = diffs.compactMap(\.refusal)
        guard let first = refusals.first, refusals.count == diffs.count else { return nil }
        return MapObjection(
            kind: .refused, text: "\(diffs.flatMap(\.agents).named) would refuse it: \(first)")
    }

    private static func inactive(_ diffs: [MapDiff]) -> MapObjection? {
        let idle = MapDiff.inactiveEverywhere(diffs)
        guard let first = idle.first else { return nil }
        let more = idle.count > 1 ? " (and \(idle.count - 1) more)" : ""
        return MapObjection(
            kind: .inactive,
            text: "entry \(first.number), \(first.entry.subjectPath), would have no effect on any agent: "
                + "\(first.reason)\(more)")
    }
}

extension MapDiff {
    /// The entries that would have no effect at any agent whose routes are known.
    static func inactiveEverywhere(_ diffs: [MapDiff]) -> [Inactive] {
        let known = diffs.compactMap(\.inactive)
        guard let first = known.first else { return [] }
        return first.filter { one in known.allSatisfy { $0.contains { $0.entry == one.entry } } }
    }
}

extension [MapObjection] {
    /// - Throws: ``BackendError`` of kind `notSent` with those that are not allowed.
    func check(_ allowed: Set<MapObjection.Kind>) throws(BackendError) {
        let left = filter { !allowed.contains($0.kind) }
        guard !left.isEmpty else { return }
        var error = BackendError(.notSent, "not sent: \(left.map(\.text).joined(separator: "; "))")
        error.objections = left
        throw error
    }
}

extension [String] {
    /// The first few of them, and how many more there are.
    package var named: String {
        let names = prefix(5).joined(separator: ", ")
        return count > 5 ? "\(names) and \(count - 5) more" : names
    }
}
