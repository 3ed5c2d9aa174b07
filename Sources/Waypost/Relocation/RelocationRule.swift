/// What happens to the URLs of an origin: a redirect, a guard of its pages, or neither.
package struct RelocationRule: Sendable {
    package let origin: RelocationOrigin
    /// Nil for a reset, and for what guards pages: what it takes opens as without a map.
    package let redirect: RelocationRedirect?
    /// Nil for `on`: what it takes is not guarded; and for redirects.
    let guarding: PageGuard?
    /// Whether it is about what pages go through, and not about redirects.
    package let isOfPages: Bool
    package let place: RelocationPlan.Place
    /// When it applies; nil for always.
    package let condition: RelocationCondition?
    /// Why its condition can't be used, so that it never applies.
    let fault: String?
    /// The URLs to which it does not apply; nil for none.
    private let exceptions: RouteTable?
    /// The steps that one look at it takes.
    let weight: Int

    /// Whether it is a redirect of whatever its origin takes.
    var isPlain: Bool { exceptions == nil && condition == nil && redirect != nil }

    /// The rule of an entry of type 1 or 4, and of one about pages; nil for the others.
    package init?(
        _ entry: RelocationEntry, _ place: RelocationPlan.Place, _ language: RelocationLanguage
    ) throws(RelocationError) {
        switch entry.kind {
        case .replace, .reset: isOfPages = false
        case .off(.pages, _, _), .on(.pages), .gate, .refuse: isOfPages = true
        case .add, .delete, .off, .on, .answer, .replaceMethod: return nil
        }
        redirect = try RelocationRedirect(entry, place, language)
        guarding = PageGuard(entry, place)
        if let redirect {
            origin = redirect.origin
        } else {
            origin = try RelocationOrigin(
                entry.subjectPath, index: place.index, field: isOfPages ? "path" : "orginPath", language)
        }
        self.place = place
        exceptions = try Self.exceptions(entry.except, place.index, language)
        let bytesOfExceptions = entry.except.reduce(0) { $0 + $1.utf8.count }
        let (origin, isRedirect) = (origin, redirect != nil)
        (condition, fault) = RelocationConditionReader.condition(of: entry) { text throws(RelocationError) in
            isRedirect ? try RelocationTarget(text, of: origin, index: place.index, language) : nil
        }
        // A search of the exceptions looks at no more of them than was written.
        weight = 5 + bytesOfExceptions + (condition.map { 100 + 10 * $0.count } ?? 0)
    }

    /// Whether it may apply to a URL that its origin takes.
    func covers(_ url: RouteURL) -> Bool { exceptions?.firstMatch(url) == nil }

    /// The redirects to each of its targets.
    var redirects: [RelocationRedirect] {
        guard let redirect else { return [] }
        return [redirect] + (condition?.variants?.list ?? []).map { redirect.with($0.target) }
    }

    /// Its redirect to one of its targets, named when it is not the entry's own.
    func redirect(
        _ input: ConditionInput
    ) -> (redirect: RelocationRedirect?, variant: Int?) {
        guard let redirect, let variant = condition?.variant(input) else { return (redirect, nil) }
        return (redirect.with(variant.target), variant.number)
    }

    private static func exceptions(
        _ texts: [String], _ index: Int, _ language: RelocationLanguage
    ) throws(RelocationError) -> RouteTable? {
        guard !texts.isEmpty else { return nil }
        var table = language.table()
        for (number, text) in texts.enumerated() {
            let pattern = try language.wholePattern(text, index: index, field: "except")
            // Two that take the same URLs are as good as one.
            _ = try? table.add(pattern, index: UInt32(truncatingIfNeeded: number), replacing: true)
        }
        return table
    }
}

/// What an entry of type 2 or 3 does to a path.
package struct RelocationPathRule: Sendable {
    package let pattern: String
    /// The destination of a path that is added; nil for a path that is taken away.
    let className: String?
    let params: [String: JSONValue]
    package let place: RelocationPlan.Place
    /// When it applies; nil for always.
    package let condition: RelocationCondition?
    /// Why its condition can't be used, so that it never applies.
    let fault: String?

    /// The rule of an entry of type 2 or 3; nil for the others.
    init?(_ entry: RelocationEntry, _ place: RelocationPlan.Place) {
        switch entry.kind {
        case .add(let path, let name): (pattern, className) = (path, name)
        case .delete(let path): (pattern, className) = (path, nil)
        default: return nil
        }
        params = entry.params
        self.place = place
        (condition, fault) = RelocationConditionReader.condition(of: entry) { _ in nil }
    }
}
