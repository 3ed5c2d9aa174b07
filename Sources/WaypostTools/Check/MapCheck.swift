import Waypost

/// Finds what is wrong with the entries of maps.
struct MapCheck {
    private let maps: [String: CheckedMap]
    private let order: [String]
    /// Whether the maps are documents that someone is writing, and not what patches have left of some.
    private let isOfDocuments: Bool
    private var refusals: RelocationRefusals
    /// Why the maps could not be put in force at all.
    private var failure: RelocationError?

    init(_ maps: [CheckedMap], isOfDocuments: Bool) {
        self.maps = Dictionary(maps.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        order = maps.map(\.name)
        self.isOfDocuments = isOfDocuments
        refusals = RelocationRefusals(leavingOut: Set(maps.flatMap(\.refusedPlaces)))
    }

    /// Lays the maps over the routes, as far as they are not refused.
    mutating func install(in state: inout RouterState) {
        let layers = order.compactMap { maps[$0]?.wholeLayer }
        do throws(RelocationError) {
            // What is refused is left out, which may show what is wrong with a layer below.
            while true {
                let before = refusals.leftOut.count
                let compiled = try CompiledRelocation(layers, for: state, &refusals)
                guard refusals.leftOut.count == before else { continue }
                _ = state.install(compiled)
                return
            }
        } catch {
            failure = error
        }
    }

    func findings(in state: RouterState) -> [CheckReport.Finding] {
        let language = RelocationLanguage(
            converters: state.configuration.converters, ignoresCase: state.configuration.ignoresCase)
        let leftOut = leftOut(language)
        var findings = refused + unseen + deadEntries(state, leftOut) + ConditionCheck(state.plan).findings
        findings += foreignTargets(state.plan) + doubles + unusableBuild(state)
        // Maps that take too much work would take as much here.
        guard failure == nil else { return findings }
        let rules = rules(language)
        findings += deadOrigins(rules, state)
        if isOfDocuments { findings += deadResets(rules, leftOut, language) }
        return findings
    }

    // MARK: Refused

    private var refused: [CheckReport.Finding] {
        let read = order.flatMap { name in
            (maps[name]?.refused ?? []).map { error in
                var error = error.inLayer(name)
                error.others = error.others.map { .init(layer: name, index: $0.index) }
                return error
            }
        }
        return (read + refusals.errors + [failure].compactMap(\.self)).map(finding)
    }

    private func finding(_ error: RelocationError) -> CheckReport.Finding {
        let kind: CheckReport.Finding.Kind =
            error.code == .cycle || error.code == .chain ? .cycle : .refused
        guard let layer = error.layer, let index = error.index else {
            return .init(
                kind: kind, subject: error.field ?? "", detail: "\(error)",
                place: error.layer.map { .map(layer: $0, field: error.field) }, code: error.code)
        }
        let place = RelocationPlan.Place(layer: layer, index: index)
        return .init(
            kind, place, about: subject(place), error.detail, field: error.field, others: error.others,
            code: error.code)
    }

    // MARK: Other than they look

    private var unseen: [CheckReport.Finding] {
        order.compactMap { maps[$0] }.flatMap { map in
            map.entries.indices.compactMap { index -> CheckReport.Finding? in
                let place = RelocationPlan.Place(layer: map.name, index: index)
                return UnseenCheck.fault(in: map.entries[index], map.subject(index)).map { field, detail in
                    .init(.unseenCharacter, place, about: subject(place), detail, field: field)
                }
            }
        }
    }

    // MARK: Without effect

    private func deadEntries(_ state: RouterState, _ leftOut: RouteTable) -> [CheckReport.Finding] {
        var copy = state
        let faults = Set(state.plan.faults.map(\.place))
        let redirects = Dictionary(grouping: state.plan.redirects, by: \.place)
        var known: Set<CheckReport.Finding> = []
        return copy.inactiveEntries().compactMap { inactive -> CheckReport.Finding? in
            let place = RelocationPlan.Place(layer: inactive.layer, index: inactive.index)
            guard let entry = entry(place) else { return nil }
            let (kind, field): (CheckReport.Finding.Kind, String) =
                switch entry.kind {
                case _ where faults.contains(place): (.neverApplies, "when")
                case .replace, .reset: (.deadRedirect, "targetPath")
                case .add: (.unknownClass, "className")
                case .delete: (.deadDeletion, "path")
                case .off, .on, .answer, .replaceMethod, .gate, .refuse:
                    (.deadEntry, entry.pages == nil ? "service" : "path")
                }
            // That it leads to an entry that is refused is said there.
            let targets = (redirects[place] ?? []).map(\.redirect.target)
            if kind == .deadRedirect, targets.contains(where: { leads($0, to: leftOut, state) }) {
                return nil
            }
            let className: String? = if case .add(_, let name) = entry.kind { name } else { nil }
            let finding = CheckReport.Finding(
                kind, place, about: subject(place), inactive.reason,
                subject: kind == .unknownClass ? className : nil, field: field)
            return known.insert(finding).inserted ? finding : nil
        }
    }

    /// The origins and paths of the entries that are left out.
    private func leftOut(_ language: RelocationLanguage) -> RouteTable {
        var table = language.table()
        for (number, place) in refusals.leftOut.enumerated() {
            let text = maps[place.layer]?.subject(place.index) ?? ""
            guard let pattern = try? language.wholePattern(text, index: 0, field: "") else { continue }
            _ = try? table.add(pattern, index: UInt32(truncatingIfNeeded: number), replacing: true)
        }
        return table
    }

    /// Whether a target leads to one of these, perhaps over other redirects.
    private func leads(_ target: RelocationTarget, to table: RouteTable, _ state: RouterState) -> Bool {
        guard target.isFixed, let url = try? RouteURL(target.text) as RouteURL else { return false }
        var steps = RelocationSteps.ofOpen
        return state.plan.leads(url, hops: state.plan.maximumHops, nil, &steps) { url, _ in
            table.firstMatch(url) == nil ? nil : true
        }
    }

    /// A build that no condition can compare, once for all entries that ask for it.
    private func unusableBuild(_ state: RouterState) -> [CheckReport.Finding] {
        guard let fault = state.context.buildFault,
            state.plan.conditions.contains(where: \.condition.asksForBuild)
        else {
            return []
        }
        return [.init(kind: .neverApplies, subject: state.context.build ?? "", detail: fault)]
    }

    // MARK: Probably mistakes

    /// The redirects and resets of all layers, also those that a later layer hides.
    private func rules(_ language: RelocationLanguage) -> [RelocationRule] {
        order.compactMap { maps[$0] }.flatMap { map -> [RelocationRule] in
            map.entries.enumerated().compactMap { index, entry -> RelocationRule? in
                let place = RelocationPlan.Place(layer: map.name, index: index)
                guard let entry, !refusals.leftOut.contains(place) else { return nil }
                return (try? RelocationRule(entry, place, language)) ?? nil
            }
        }
    }

    private func deadOrigins(_ rules: [RelocationRule], _ state: RouterState) -> [CheckReport.Finding] {
        rules.compactMap { rule -> CheckReport.Finding? in
            let text = rule.origin.text
            let reason = ForeignSyntax.hint(in: text, PatternSyntax()) ?? missingScheme(rule.origin, state)
            return reason.map {
                .init(.deadOrigin, rule.place, about: subject(rule.place), $0, field: rule.originField)
            }
        }
    }

    /// What is said of an origin like `app//old`; nil for one that may be meant so.
    private func missingScheme(_ origin: RelocationOrigin, _ state: RouterState) -> String? {
        guard origin.scheme?.isEmpty ?? true else { return nil }
        for scheme in state.base.schemeNames {
            let rest = origin.text.dropFirst(scheme.count)
            guard origin.text.hasPrefix(scheme), rest.hasPrefix("/") || rest.hasPrefix(":") else { continue }
            let path = rest.drop { $0 == "/" || $0 == ":" }
            return "it has no scheme, so it matches no \(scheme):// URL; did you mean "
                + "\(RouteURL.withoutValues("\(scheme)://\(path)"))?"
        }
        return nil
    }

    private func deadResets(
        _ rules: [RelocationRule], _ leftOut: RouteTable, _ language: RelocationLanguage
    ) -> [CheckReport.Finding] {
        var keys: Set<RelocationPath.Key> = []
        var wide = language.table()
        for (number, rule) in rules.enumerated() where rule.redirect != nil {
            keys.insert(rule.origin.key)
            guard rule.origin.pattern != nil || rule.origin.isSubtree, let pattern = rule.origin.asPattern
            else { continue }
            _ = try? wide.add(pattern, index: UInt32(truncatingIfNeeded: number), replacing: true)
        }
        return rules.compactMap { rule -> CheckReport.Finding? in
            guard rule.redirect == nil, !rule.isOfPages, !keys.contains(rule.origin.key),
                let url = rule.origin.sample,
                wide.firstMatch(url) == nil, leftOut.firstMatch(url) == nil
            else { return nil }
            let reason = "nothing redirects \(rule.origin.shown) in the maps that were given"
            return .init(.deadReset, rule.place, about: subject(rule.place), reason, field: "orginPath")
        }
    }

    private func foreignTargets(_ plan: RelocationPlan) -> [CheckReport.Finding] {
        plan.redirects.compactMap { redirect, place in
            ForeignSyntax.hint(in: redirect.target.text, PatternSyntax()).map { hint in
                .init(
                    .foreignSyntax, place, about: subject(place), "in targetPath, \(hint)",
                    field: "targetPath")
            }
        }
    }

    /// Entries of one document that add or delete the same path.
    private var doubles: [CheckReport.Finding] {
        order.compactMap { maps[$0] }.flatMap { map -> [CheckReport.Finding] in
            var earlier: [RelocationPath.Key: Int] = [:]
            return map.entries.enumerated().compactMap { index, entry -> CheckReport.Finding? in
                let place = RelocationPlan.Place(layer: map.name, index: index)
                guard let entry, entry.when == nil, !refusals.leftOut.contains(place) else { return nil }
                switch entry.kind {
                case .add(let path, _), .delete(let path):
                    guard let first = earlier.updateValue(index, forKey: .init(of: path)) else { return nil }
                    return .init(
                        .overlap, place, about: subject(place),
                        "entry \(first + 1) is about the same path, and has no effect", field: "path",
                        others: [.init(layer: map.name, index: first)])
                default: return nil
                }
            }
        }
    }

    // MARK: Entries

    private func entry(_ place: RelocationPlan.Place) -> RelocationEntry? {
        guard let map = maps[place.layer], map.entries.indices.contains(place.index) else { return nil }
        return map.entries[place.index]
    }

    private func subject(_ place: RelocationPlan.Place) -> String {
        RouteURL.withoutValues(maps[place.layer]?.subject(place.index) ?? "")
    }
}
