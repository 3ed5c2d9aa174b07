/// A range of versions: comparisons that must all hold, like `>=2.1 <3`.
struct VersionRange: Sendable {
    private struct Bound {
        var version: AppVersion
        var isIncluded: Bool
    }

    private var lower: Bound?
    private var upper: Bound?

    /// Nil for what is no range.
    init?(_ text: String) {
        var pending: Substring = ""
        var count = 0
        for word in text.split(separator: " ") {
            let comparison = pending + word
            let name = comparison.prefix { "<>=".contains($0) }
            guard name.endIndex < comparison.endIndex else {
                pending = comparison
                continue
            }
            pending = ""
            guard let version = AppVersion(comparison[name.endIndex...]) else { return nil }
            count += 1
            switch name {
            case ">=": raise(Bound(version: version, isIncluded: true))
            case ">": raise(Bound(version: version, isIncluded: false))
            case "<=": cut(Bound(version: version, isIncluded: true))
            case "<": cut(Bound(version: version, isIncluded: false))
            case "=":
                raise(Bound(version: version, isIncluded: true))
                cut(Bound(version: version, isIncluded: true))
            default: return nil
            }
        }
        guard pending.isEmpty, count > 0 else { return nil }
    }

    private mutating func raise(_ bound: Bound) {
        guard let lower else { return lower = bound }
        if lower.version < bound.version || (lower.version == bound.version && !bound.isIncluded) {
            self.lower = bound
        }
    }

    private mutating func cut(_ bound: Bound) {
        guard let upper else { return upper = bound }
        if bound.version < upper.version || (bound.version == upper.version && !bound.isIncluded) {
            self.upper = bound
        }
    }

    func contains(_ version: AppVersion) -> Bool {
        if let lower, version < lower.version || (version == lower.version && !lower.isIncluded) {
            return false
        }
        if let upper, upper.version < version || (version == upper.version && !upper.isIncluded) {
            return false
        }
        return true
    }

    /// Whether no version lies in it.
    var isEmpty: Bool {
        guard let lower, let upper else { return false }
        return upper.version < lower.version
            || (upper.version == lower.version && !(lower.isIncluded && upper.isIncluded))
    }

    /// The versions that lie in both.
    func intersection(_ other: VersionRange) -> VersionRange {
        var both = self
        if let lower = other.lower { both.raise(lower) }
        if let upper = other.upper { both.cut(upper) }
        return both
    }
}
