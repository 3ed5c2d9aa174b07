/// What a map does to the opens of pages, beside redirecting them.
///
/// A class, for each open of such a page gets it.
final class PageGuard: Sendable {
    /// What it does.
    enum Effect: Sendable {
        /// The open ends with this.
        case off(Failure)
        /// The open goes through the program's gate of this name.
        case gate(String)
        /// The open is refused with this reason, as by an interceptor.
        case refuse(String)
    }

    let effect: Effect
    /// The entry that does it.
    let place: RelocationPlan.Place

    /// The guard of an entry; nil for one that guards no pages.
    init?(_ entry: RelocationEntry, _ place: RelocationPlan.Place) {
        switch entry.kind {
        case .off(.pages(let path), let reason, let code):
            effect = .off(Failure(switchedOff: RouteURL.withoutValues(path), reason, code, by: place))
        case .gate(_, let name): effect = .gate(name)
        case .refuse(_, let reason): effect = .refuse(reason)
        default: return nil
        }
        self.place = place
    }

    /// What it does, for people.
    var text: String {
        switch effect {
        case .off(let failure): "off, \(failure.code)"
        case .gate(let name): "gate \(name)"
        case .refuse(let reason): "refused: \(reason)"
        }
    }
}

extension Failure {
    /// What callers get of something that a map has switched off.
    init(switchedOff subject: String, _ reason: String?, _ code: Code, by place: RelocationPlan.Place) {
        self.init(code, reason ?? "\(subject) is switched off by \(place.text)")
    }
}
