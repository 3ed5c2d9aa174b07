/// A redirect as it is followed: where from, where to, what it adds.
///
/// A class, for each open that it takes gets it.
package final class RelocationRedirect: Sendable {
    package let origin: RelocationOrigin
    package let target: RelocationTarget
    let params: [String: JSONValue]
    /// The entry that makes it.
    let place: RelocationPlan.Place

    /// The URL or subtree that it takes; nil for a pattern.
    var originPath: RelocationPath? {
        if case .path(let path) = origin.kind { path } else { nil }
    }

    /// Whether it adds parameters, and so may lead to the path that it comes from: once, for then nothing is left to add.
    var addsParameters: Bool { !target.swapsCaptures && (target.hasQuery || !params.isEmpty) }

    /// The redirect that an entry makes; nil for one that makes none.
    init?(
        _ entry: RelocationEntry, _ place: RelocationPlan.Place, _ language: RelocationLanguage = .ofDocuments
    ) throws(RelocationError) {
        let index = place.index
        let texts: (origin: String, target: String)
        switch entry.kind {
        case .replace(let origin, let target): texts = (origin, target)
        case .reset(let origin, let target?): texts = (origin, target)
        default: return nil
        }
        origin = try RelocationOrigin(texts.origin, index: index, language)
        // TheRouter resets with the origin as its target.
        if case .reset = entry.kind,
            try RelocationOrigin(texts.target, index: index, field: "targetPath", language).key == origin.key
        {
            return nil
        }
        target = try RelocationTarget(texts.target, of: origin, index: index, language)
        params = entry.params
        self.place = place
    }

    /// The same to another target.
    func with(_ target: RelocationTarget) -> RelocationRedirect {
        RelocationRedirect(origin, target, params, place)
    }

    private init(
        _ origin: RelocationOrigin, _ target: RelocationTarget, _ params: [String: JSONValue],
        _ place: RelocationPlan.Place
    ) {
        self.origin = origin
        self.target = target
        self.params = params
        self.place = place
    }

    /// The URL that this redirect makes of one that it takes.
    func apply(to url: RouteURL, captured: [CapturedParameter] = []) -> String {
        target.url(from: url, origin, captured)
    }
}
