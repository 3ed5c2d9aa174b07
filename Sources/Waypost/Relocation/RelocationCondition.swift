/// When a relocation entry applies: its `when`, read.
///
/// A pure function of what is asked; nothing in it looks at a clock or draws lots.
package struct RelocationCondition: Sendable {
    /// One of several targets, for an experiment.
    struct Variant: Sendable {
        let target: RelocationTarget
        /// The first bucket behind those that go to it.
        let end: UInt64
    }

    /// Why an entry applies or does not.
    enum Answer: Sendable, Hashable {
        case yes(String)
        case no(String)
        /// Only an open says: the time, or a parameter.
        case depends(String)
    }

    var build: (range: VersionRange, text: String)?
    package var asksForBuild: Bool { build != nil }
    var locales: [String]?
    var labels: [(key: String, values: [String])] = []
    /// Milliseconds since 1970.
    var after: Int64?
    /// Milliseconds since 1970; from then on it does not apply.
    var before: Int64?
    var share: (draw: RelocationShare, end: UInt64, percent: String)?
    var variants: (draw: RelocationShare, list: [Variant])?

    // MARK: Asking

    /// Whether the entry applies to an open, and why.
    func decide(_ input: ConditionInput) -> (holds: Bool, reason: String) {
        switch answer(input.requester.context) {
        case .no(let reason): return (false, reason)
        case .yes(let reason): return (true, reason)
        case .depends: break
        }
        if let failure = windowFailure(input.requester.now) ?? shareFailure(input.value) {
            return (false, failure)
        }
        return (true, "\(text(input.requester.context.redaction)): yes")
    }

    /// Whether the entry applies in this client, as far as that does not depend on an open.
    func answer(_ context: RelocationContext) -> Answer {
        if let build {
            let version = context.build.flatMap { AppVersion($0) }
            guard let version, build.range.contains(version) else {
                let found = context.build.map { "it is \($0.cut(to: 64))" } ?? "it is not known"
                return .no("build \(build.text): no (\(found))")
            }
        }
        if let locales {
            let subtags = context.locale.map(Self.subtags) ?? []
            guard locales.contains(where: { subtags.starts(with: Self.subtags($0)) }) else {
                let found = context.locale.map { "it is \($0.cut(to: 64))" } ?? "it is not known"
                return .no(
                    "locale \(locales.joined(separator: " or ").cut(to: Self.longestText)): no (\(found))")
            }
        }
        for label in labels {
            guard let value = context.labels[label.key], label.values.contains(value) else {
                let isHidden = context.redaction.hides(label.key)
                let found =
                    context.labels[label.key].map {
                        isHidden ? "it is another" : "it is \($0.cut(to: 64))"
                    } ?? "there is no such label"
                return .no("\(Self.text(label, context.redaction)): no (\(found))")
            }
        }
        if after != nil || before != nil || (share.map { $0.draw.key != .agent } ?? false) {
            return .depends(text(context.redaction))
        }
        if let failure = shareFailure({ _ in context.agent }) { return .no(failure) }
        return .yes("\(text(context.redaction)): yes")
    }

    private func shareFailure(_ value: (RelocationShare.Key) -> String?) -> String? {
        guard let share else { return nil }
        guard let value = value(share.draw.key) else {
            return "\(shareText(share)): no (\(Self.missing(share.draw.key)))"
        }
        return share.draw.bucket(of: value) < share.end ? nil : "\(shareText(share)): no"
    }

    private func windowFailure(_ now: Int64?) -> String? {
        if let after {
            guard let now else { return "after \(after): no (the clock can't be trusted)" }
            guard now >= after else { return "after \(after): no" }
        }
        if let before {
            guard let now else { return "before \(before): no (the clock can't be trusted)" }
            guard now < before else { return "before \(before): no" }
        }
        return nil
    }

    /// The target that an experiment gives to this open; nil for the entry's own.
    func variant(_ input: ConditionInput) -> (number: Int, target: RelocationTarget)? {
        guard let variants, let value = input.value(of: variants.draw.key) else { return nil }
        let bucket = variants.draw.bucket(of: value)
        guard let number = variants.list.firstIndex(where: { bucket < $0.end }) else { return nil }
        return (number, variants.list[number].target)
    }

    // MARK: Text

    /// As many bytes of it are shown; there may be a thousand values of labels.
    private static let longestText = 256

    /// All of it in words.
    private func text(_ redaction: Redaction) -> String {
        var parts: [String] = []
        if let build { parts.append("build \(build.text)") }
        if let locales { parts.append("locale \(locales.joined(separator: " or "))") }
        parts += labels.map { Self.text($0, redaction) }
        if let after { parts.append("after \(after)") }
        if let before { parts.append("before \(before)") }
        if let share { parts.append(shareText(share)) }
        if let variants { parts.append("\(variants.list.count) more targets by salt \(variants.draw.salt)") }
        let all = parts.isEmpty ? "always" : parts.joined(separator: ", ")
        return all.cut(to: Self.longestText)
    }

    private func shareText(_ share: (draw: RelocationShare, end: UInt64, percent: String)) -> String {
        let key = if case .parameter(let name) = share.draw.key { " by \(name)" } else { "" }
        return "share \(share.percent) % of salt \(share.draw.salt)\(key)"
    }

    /// A label and its values, unless these must not be seen: reasons are retained at the broker.
    private static func text(_ label: (key: String, values: [String]), _ redaction: Redaction) -> String {
        // Without a mark behind the key, where another look for secrets would take the text after it for the value.
        guard !redaction.hides(label.key) else { return "label \(label.key) (hidden)" }
        return "label \(label.key)=\(label.values.joined(separator: " or ").cut(to: longestText))"
    }

    private static func missing(_ key: RelocationShare.Key) -> String {
        switch key {
        case .agent: "the client has no name"
        case .parameter(let name): "there is no parameter \(name)"
        }
    }

    /// The parts of a locale; what the system's names have behind them, as in `de_AT.UTF-8@euro`, is none.
    static func subtags(_ locale: String) -> [String] {
        locale.lowercased().utf8.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "@") }
            .split { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
            .map { String(Substring($0)) }
    }

    /// How many texts and targets it is made of.
    var count: Int {
        labels.reduce((locales?.count ?? 0) + (variants?.list.count ?? 0)) { $0 + $1.values.count }
    }

    // MARK: Comparing

    /// The steps of ``excludes(_:)``.
    func stepsToCompare(with other: RelocationCondition) -> Int {
        let locales = (locales?.count ?? 0) * (other.locales?.count ?? 0)
        return 20 + 100 * (count + other.count) + 10 * locales + labels.count * other.count
    }

    /// Why it never holds; nil when it may.
    package var contradiction: String? {
        if let build, build.range.isEmpty { return "no version matches build \(build.text)" }
        if let after, let before, before <= after {
            return "before \(before) is not later than after \(after)"
        }
        if let share, share.end == 0 { return "\(shareText(share)) matches no client" }
        return nil
    }

    /// Whether no open can meet both.
    package func excludes(_ other: RelocationCondition) -> Bool {
        if contradiction != nil || other.contradiction != nil { return true }
        if let build, let range = other.build?.range, build.range.intersection(range).isEmpty { return true }
        if let after, let end = other.before, end <= after { return true }
        if let before, let start = other.after, before <= start { return true }
        if let locales = locales?.map(Self.subtags), let others = other.locales?.map(Self.subtags) {
            let areApart = locales.allSatisfy { one in
                others.allSatisfy { !one.starts(with: $0) && !$0.starts(with: one) }
            }
            if areApart { return true }
        }
        return labels.contains { label in
            other.labels.contains { $0.key == label.key && Set($0.values).isDisjoint(with: label.values) }
        }
    }

    /// Whether the other holds whenever this one does, as far as that is plain to see.
    package func isCovered(by other: RelocationCondition) -> Bool {
        if let range = other.build {
            guard let build, build.text == range.text else { return false }
        }
        if let wanted = other.locales {
            guard let locales, Set(locales).isSubset(of: wanted) else { return false }
        }
        for wanted in other.labels {
            let label = labels.first { $0.key == wanted.key }
            guard let label, Set(label.values).isSubset(of: wanted.values) else { return false }
        }
        if let start = other.after {
            guard let after, after >= start else { return false }
        }
        if let end = other.before {
            guard let before, before <= end else { return false }
        }
        guard let wanted = other.share else { return true }
        guard let share, share.draw == wanted.draw else { return false }
        return share.end <= wanted.end
    }
}

extension RelocationCondition {
    /// That of a command: which clients it is for.
    ///
    /// - Throws: ``Failure`` 422: what a client is decides alone, for a command has a time of its own and no parameters.
    package init(ofCommand json: JSONValue) throws(Failure) {
        let reader = RelocationConditionReader { (_) throws(RelocationConditionReader.Fault) in
            throw RelocationConditionReader.Fault(reason: "when.targets is for maps")
        }
        do throws(RelocationConditionReader.Fault) { self = try reader.read(json) } catch {
            throw Failure(.badField, error.reason)
        }
        guard after == nil, before == nil else {
            throw Failure(
                .badField, "when.after and when.before are for maps; a command has after and window")
        }
        guard share.map({ $0.draw.key == .agent }) ?? true else {
            throw Failure(.badField, "when.share of a command goes by the agent")
        }
    }

    /// Why it does not hold in this client; nil when it does.
    package func refusal(in context: RelocationContext) -> String? {
        if case .no(let reason) = answer(context) { reason } else { nil }
    }
}
