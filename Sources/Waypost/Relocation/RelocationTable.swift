/// The rules about pages by their origins, and how the one is found that applies to a URL.
package struct RelocationTable: Sendable {
    /// The rules of each origin, in the order in which they are tried.
    package let rules: [[RelocationRule]]
    /// The origins, whose numbers are those of their rules; nil without any.
    let origins: RouteTable?

    /// One without rules.
    init() { (rules, origins) = ([], nil) }

    /// - Parameter add: Adds an origin, and counts what that takes.
    /// - Throws: ``RelocationError`` for an origin that is longer than a pattern may be, and what `add` throws.
    init(
        _ rules: [[RelocationRule]], _ language: RelocationLanguage,
        add: (RoutePattern, UInt32, inout RouteTable) throws(RelocationError) -> Void
    ) throws(RelocationError) {
        self.rules = rules
        guard !rules.isEmpty else {
            origins = nil
            return
        }
        var table = language.table()
        for (number, alternatives) in rules.enumerated() {
            guard let rule = alternatives.first else { continue }
            guard let pattern = rule.origin.asPattern else {
                throw RelocationError(
                    .tooLarge, layer: rule.place.layer, index: rule.place.index, field: rule.originField,
                    detail: "\(rule.originField) is longer than a pattern may be")
            }
            // Equal ones have equal keys, so there is no conflict.
            try add(pattern, UInt32(truncatingIfNeeded: number), &table)
        }
        origins = table
    }

    /// An origin that takes a URL.
    struct Match {
        /// That of its rules.
        let number: Int
        /// Where its placeholders are.
        fileprivate let match: RouteMatch
    }

    /// The rule that applies to a URL.
    struct Found {
        let rule: RelocationRule
        let match: Match
        /// What its condition was decided on, and why it holds; nil without a condition.
        let condition: (input: ConditionInput, reason: String)?
    }

    /// The rule that applies to a URL, if any.
    ///
    /// - Parameters:
    ///   - requester: Who asks; nil for the rules without a condition only.
    ///   - decisions: Gets what was decided about rules that do not apply; nil when no one reads it.
    ///   - steps: What may still be looked at; when they are over there is none.
    func find(
        _ url: RouteURL, _ requester: RelocationRequester?, _ decisions: inout [RelocationDecision]?,
        _ steps: inout RelocationSteps
    ) -> Found? {
        for match in matches(url, &steps) {
            for rule in rules[match.number] {
                steps.take(rule.weight)
                guard !steps.areOver else { return nil }
                guard rule.covers(url) else {
                    decisions?.append(rule.place.decision(false, "\(rule.origin.shown) except this URL"))
                    continue
                }
                guard let condition = rule.condition else {
                    return Found(rule: rule, match: match, condition: nil)
                }
                guard let requester else { continue }
                let input = ConditionInput(
                    requester: requester, page: .init(url: url, match: match.match, origins: origins))
                let (holds, reason) = condition.decide(input)
                guard holds else {
                    decisions?.append(rule.place.decision(false, reason))
                    continue
                }
                return Found(rule: rule, match: match, condition: (input, reason))
            }
        }
        return nil
    }

    /// The origins that take a URL in the order of routes: a literal one before patterns, and rests last.
    ///
    /// What is found is counted, so that the next look finds none when there was too much of it.
    func matches(_ url: RouteURL, _ steps: inout RelocationSteps) -> [Match] {
        guard !steps.areOver else { return [] }
        guard let all = origins?.searchAll(url) else { return [] }
        let found = all.matches.map { Match(number: Int($0.index), match: $0) }
            .filter { rules[$0.number].first?.origin.takes(url) == true }
        steps.take(all.looks)
        steps.take(50 + url.text.utf8.count + 50 * found.count)
        return found
    }

    /// What the placeholders of an origin take of a URL.
    func captured(_ match: Match, in url: RouteURL) -> [CapturedParameter] {
        rules[match.number].first?.origin.pattern == nil
            ? [] : origins?.parameters(of: match.match, in: url) ?? []
    }
}

extension RelocationRule {
    /// The field that has its origin.
    package var originField: String { isOfPages ? "path" : "orginPath" }
}

extension RelocationPlan.Place {
    func decision(_ applies: Bool, _ reason: String) -> RelocationDecision {
        RelocationDecision(layer: layer, index: index, applies: applies, reason: reason)
    }
}
