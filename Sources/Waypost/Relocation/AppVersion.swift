/// A version of an app: numbers between dots, and what may follow a hyphen (Semantic Versioning 2.0.0, 11).
///
/// Other than there, any count of numbers is taken, and leading zeros do not count: builds of apps are like that.
struct AppVersion: Sendable, Comparable {
    /// Without zeros at its end: 2.0 is 2.
    private let numbers: [Digits]
    /// Of `2.0-beta.1` the parts `beta` and `1`; empty for a release.
    private let preRelease: [Identifier]

    /// Nil for what is no version.
    init?(_ text: some StringProtocol) {
        // A plus sign begins what takes no part in the order.
        let version = text.prefix { $0 != "+" }
        let sides = version.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        var numbers: [Digits] = []
        for part in sides[0].split(separator: ".", omittingEmptySubsequences: false) {
            guard let number = Digits(part) else { return nil }
            numbers.append(number)
        }
        while numbers.last == .zero { numbers.removeLast() }
        self.numbers = numbers
        let rest = sides.count > 1 ? sides[1].split(separator: ".", omittingEmptySubsequences: false) : []
        guard rest.allSatisfy({ !$0.isEmpty }) else { return nil }
        preRelease = rest.map { part in Digits(part).map(Identifier.number) ?? .text(String(part)) }
    }

    static func < (one: AppVersion, other: AppVersion) -> Bool {
        if one.numbers != other.numbers { return one.numbers.lexicographicallyPrecedes(other.numbers) }
        // A release comes after all that lead to it.
        guard !one.preRelease.isEmpty, !other.preRelease.isEmpty else { return !one.preRelease.isEmpty }
        return one.preRelease.lexicographicallyPrecedes(other.preRelease)
    }
}

/// A part behind the hyphen; one of digits comes before all others (11.4.3).
private enum Identifier: Sendable, Comparable {
    case number(Digits)
    case text(String)
}

/// A number by its digits, so that none is too large.
private struct Digits: Sendable, Comparable {
    static let zero = Digits(digits: "")

    /// Without leading zeros.
    private let digits: String

    private init(digits: String) { self.digits = digits }

    /// Nil for what are not digits alone.
    init?(_ text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
        digits = String(text.drop { $0 == "0" })
    }

    static func < (one: Digits, other: Digits) -> Bool {
        let (length, otherLength) = (one.digits.utf8.count, other.digits.utf8.count)
        return length == otherLength ? one.digits < other.digits : length < otherLength
    }
}

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

/// A range of versions as people write it, `>=2.1 <3`: what a list of clients is filtered by.
package struct AppRange: Sendable {
    private let range: VersionRange

    /// Nil for what is no range.
    package init?(_ text: String) {
        guard let range = VersionRange(text) else { return nil }
        self.range = range
    }

    /// Whether a version lies in it; what is no version does not.
    package func contains(_ version: String) -> Bool { AppVersion(version).map(range.contains) ?? false }
}
