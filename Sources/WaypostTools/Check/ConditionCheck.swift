import Waypost

/// Finds conditions of map entries that never hold, or that hold together.
struct ConditionCheck {
    private(set) var findings: [CheckReport.Finding] = []

    init(_ plan: RelocationPlan) {
        for alternatives in plan.rules + plan.guards.rules {
            check(alternatives.map { Subject($0.origin.shown, $0.place, $0.condition) })
        }
        for alternatives in plan.paths {
            check(alternatives.map { Subject($0.pattern, $0.place, $0.condition) })
        }
        for alternatives in plan.calls.alternatives {
            check(alternatives.map { Subject($0.subject.text, $0.place, $0.condition) })
        }
    }

    private struct Subject {
        let text: String
        let place: RelocationPlan.Place
        let condition: RelocationCondition?

        init(_ text: String, _ place: RelocationPlan.Place, _ condition: RelocationCondition?) {
            self.text = text
            self.place = place
            self.condition = condition
        }
    }

    private mutating func check(_ alternatives: [Subject]) {
        for (number, one) in alternatives.enumerated() {
            guard let condition = one.condition else { continue }
            if let contradiction = condition.contradiction {
                add(.neverApplies, one, "it never applies: \(contradiction)")
                continue
            }
            // What a later layer says about it is meant to go first.
            let rivals = alternatives[..<number].filter { $0.place.layer == one.place.layer }
            if let rival = rivals.first(where: { $0.condition.map { condition.isCovered(by: $0) } ?? true }) {
                add(
                    .neverApplies, one,
                    "it never applies: entry \(rival.place.index + 1) always comes first", rival)
            } else if let rival = rivals.first(where: { $0.condition.map { !condition.excludes($0) } ?? true }
            ) {
                add(
                    .overlap, one,
                    "its condition and that of entry \(rival.place.index + 1) can both be true; "
                        + "entry \(rival.place.index + 1) comes first", rival)
            }
        }
    }

    private mutating func add(
        _ kind: CheckReport.Finding.Kind, _ subject: Subject, _ reason: String, _ rivals: Subject...
    ) {
        findings.append(
            .init(
                kind, subject.place, about: subject.text, reason, field: "when", others: rivals.map(\.place)))
    }
}
