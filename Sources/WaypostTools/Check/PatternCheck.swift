import Waypost

/// Finds patterns that are probably mistakes.
struct PatternCheck {
    private let state: RouterState
    private let listed: ListedRoutes
    private(set) var findings: [CheckReport.Finding] = []

    init(_ state: RouterState, _ listed: ListedRoutes = ListedRoutes()) {
        self.state = state
        self.listed = listed
        findForeignSyntax()
        findLookAlikes()
        findUnseen()
    }

    /// Finds patterns and classes with characters that no one sees.
    private mutating func findUnseen() {
        for record in state.routes.records {
            guard
                let fault = UnseenCheck.fault(in: record.pattern.text)
                    ?? record.route.name.flatMap(UnseenCheck.fault)
            else { continue }
            add(.unseenCharacter, "\(listed.name(record)): \(fault)", record)
        }
    }

    /// Finds what another router's patterns have and ours do not.
    private mutating func findForeignSyntax() {
        let syntax = state.configuration.syntax
        for record in state.routes.records {
            guard let hint = ForeignSyntax.hint(in: record.pattern.text, syntax) else { continue }
            add(.foreignSyntax, "\(listed.name(record)): \(hint)", record)
        }
    }

    /// Finds patterns that differ only in the Unicode form of their letters: no URL shows which is meant.
    private mutating func findLookAlikes() {
        var groups: [LookAlikeKey: [StoredRoute]] = [:]
        for record in state.routes.records {
            guard let key = LookAlikeKey(record.pattern) else { continue }
            let twin = groups[key]?.first { !$0.pattern.takesTheSame(as: record.pattern) }
            groups[key, default: []].append(record)
            guard let twin else { continue }
            let names = "\(listed.name(twin)) and \(listed.name(record))"
            add(.lookAlike, "\(names) look alike: \(Self.forms(twin, record.pattern))", record, twin)
        }
        let origins = state.plan.redirects.map { ($0.redirect.origin.text, $0.place) }
        let deletions = state.plan.deletions.map { ($0.pattern, $0.place) }
        for (text, place) in origins + deletions {
            guard let pattern = try? RoutePattern(text) as RoutePattern, let key = LookAlikeKey(pattern),
                let routes = groups[key], let twin = routes.first,
                !routes.contains(where: { $0.pattern.takesTheSame(as: pattern) })
            else { continue }
            let reason =
                "it does not match \(listed.name(twin)), which looks the same: \(Self.forms(twin, pattern))"
            findings.append(.init(.lookAlike, place, about: RouteURL.withoutValues(text), reason))
        }
    }

    private static func forms(_ one: StoredRoute, _ other: RoutePattern) -> String {
        "their letters are in different Unicode forms (NFC and NFD), \(PercentCoding.ascii(one.pattern.text)) "
            + "and \(PercentCoding.ascii(other.text))"
    }

    private mutating func add(
        _ kind: CheckReport.Finding.Kind, _ detail: String, _ record: StoredRoute, _ twin: StoredRoute? = nil
    ) {
        findings.append(
            .init(
                kind: kind, subject: record.pattern.text, detail: detail,
                place: listed.index(record).map { .route($0) },
                others: [twin].compactMap { $0.flatMap(listed.index).map { .route($0) } }))
    }
}
