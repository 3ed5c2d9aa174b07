/// A version of an app: numbers between dots, and what may follow a hyphen (Semantic Versioning 2.0.0, 11).
struct AppVersion: Sendable, Comparable {
    /// Without zeros at its end: 2.0 is 2.
    private let numbers: [Int64]
    /// Of `2.0-beta.1` the parts `beta` and `1`; empty for a release.
    private let preRelease: [String]

    /// Nil for what is no version.
    init?(_ text: some StringProtocol) {
        let version = text.utf8.prefix { $0 != UInt8(ascii: "+") }
        let sides = version.split(
            separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
        var numbers: [Int64] = []
        for part in sides[0].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            guard part.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
                let number = Int64(String(decoding: part, as: UTF8.self)), numbers.count < 8
            else { return nil }
            numbers.append(number)
        }
        while numbers.last == 0 { numbers.removeLast() }
        self.numbers = numbers
        let rest =
            sides.count > 1
            ? sides[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) : []
        guard rest.count <= 8, rest.allSatisfy({ !$0.isEmpty }) else { return nil }
        preRelease = rest.map { String(decoding: $0, as: UTF8.self) }
    }

    static func < (one: AppVersion, other: AppVersion) -> Bool {
        for index in 0..<max(one.numbers.count, other.numbers.count) {
            let left = index < one.numbers.count ? one.numbers[index] : 0
            let right = index < other.numbers.count ? other.numbers[index] : 0
            if left != right { return left < right }
        }
        if one.preRelease.isEmpty || other.preRelease.isEmpty {
            return !one.preRelease.isEmpty && other.preRelease.isEmpty
        }
        for (left, right) in zip(one.preRelease, other.preRelease) where left != right {
            switch (Int64(left), Int64(right)) {
            case (let left?, let right?) where left != right: return left < right
            case (_?, nil): return true
            case (nil, _?): return false
            default: return left.utf8.lexicographicallyPrecedes(right.utf8)
            }
        }
        return one.preRelease.count < other.preRelease.count
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
