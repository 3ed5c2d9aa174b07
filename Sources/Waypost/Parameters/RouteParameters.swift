/// The parameters of an open: by their source, and merged.
///
/// Values of the path and the query are text, except where a pattern names a type. A `null` is dropped:
/// a key has a value or is absent.
public struct RouteParameters: Sendable {
    /// Where a parameter came from.
    package enum Source: String, Sendable, Hashable, CaseIterable {
        /// A placeholder of the pattern.
        case path
        /// The URL's query.
        case query
        /// The caller's own parameters.
        case caller
        /// The `params` of the relocation entries that were followed.
        case relocation
    }

    /// The values of the pattern's placeholders.
    public var path: [String: JSONValue]
    /// The values of the URL's query; of a repeated key the last one.
    public var query: [String: JSONValue]
    /// What the caller passed beside the URL.
    public var caller: [String: JSONValue]
    /// What relocation entries added.
    public var relocation: [String: JSONValue]
    /// Native values of a caller in this process that can't be written as JSON: models, closures.
    public var objects: [String: any Sendable]
    /// All values of those keys that the URL's query repeats; typed access reads them where a list is wanted.
    package var repeated: [String: [JSONValue]]
    /// Which source wins in `merged` and in typed access.
    public var rule: MergeRule

    /// Parameters by their sources; a null is dropped.
    public init(
        path: [String: JSONValue] = [:], query: [String: JSONValue] = [:], caller: [String: JSONValue] = [:],
        relocation: [String: JSONValue] = [:], objects: [String: any Sendable] = [:],
        rule: MergeRule = .callerOverPathOverQuery
    ) {
        self.init(
            path: path, query: query, repeated: [:], caller: caller, relocation: relocation, objects: objects,
            rule: rule)
    }

    /// The same with the keys that the query repeats.
    init(
        path: [String: JSONValue], query: [String: JSONValue], repeated: [String: [JSONValue]],
        caller: [String: JSONValue], relocation: [String: JSONValue], objects: [String: any Sendable],
        rule: MergeRule
    ) {
        self.path = Self.withoutNulls(path)
        self.query = Self.withoutNulls(query)
        self.caller = Self.withoutNulls(caller)
        self.relocation = Self.withoutNulls(relocation)
        self.objects = objects
        self.repeated = repeated
        self.rule = rule
    }

    /// Whether no source has any.
    var isEmpty: Bool { path.isEmpty && query.isEmpty && caller.isEmpty && relocation.isEmpty }

    /// Whether a source has such a key.
    func hasKey(where isWanted: (String) -> Bool) -> Bool {
        func hasKey(_ values: [String: JSONValue]) -> Bool {
            !values.isEmpty && values.keys.contains(where: isWanted)
        }
        return hasKey(path) || hasKey(query) || hasKey(caller) || hasKey(relocation)
    }

    /// The parameters of one source.
    package subscript(source: Source) -> [String: JSONValue] {
        get {
            switch source {
            case .path: path
            case .query: query
            case .caller: caller
            case .relocation: relocation
            }
        }
        set {
            switch source {
            case .path: path = newValue
            case .query: query = newValue
            case .caller: caller = newValue
            case .relocation: relocation = newValue
            }
        }
    }

    /// The value of a key after merging; nil when no source has it.
    public subscript(key: String) -> JSONValue? {
        guard rule != .collect else { return collected(key) }
        for source in rule.order {
            let values = self[source]
            if !values.isEmpty, let value = values[key] { return value }
        }
        return nil
    }

    /// All parameters as one object, merged by the rule.
    public var merged: [String: JSONValue] {
        var merged: [String: JSONValue] = [:]
        for source in rule.order {
            for (key, value) in self[source] {
                if let present = merged[key] {
                    if rule == .collect { merged[key] = Self.join(present, value) }
                } else {
                    merged[key] = value
                }
            }
        }
        return merged
    }

    /// Changes the merged parameters: each key gets that value, whatever the rule; a null removes the key.
    package mutating func rewrite(_ changes: [String: JSONValue]) {
        for (key, value) in changes {
            path[key] = nil
            query[key] = nil
            repeated[key] = nil
            relocation[key] = nil
            if value.isNull { caller.removeValue(forKey: key) } else { caller[key] = value }
        }
    }

    private func collected(_ key: String) -> JSONValue? {
        var found: JSONValue?
        for source in rule.order {
            guard let value = self[source][key] else { continue }
            found = found.map { Self.join($0, value) } ?? value
        }
        return found
    }

    private static func join(_ first: JSONValue, _ second: JSONValue) -> JSONValue {
        if case .array(let elements) = first { .array(elements + [second]) } else { .array([first, second]) }
    }

    @inline(__always)
    private static func withoutNulls(_ values: [String: JSONValue]) -> [String: JSONValue] {
        guard !values.isEmpty, values.values.contains(where: \.isNull) else { return values }
        return values.filter { !$0.value.isNull }
    }
}

extension RouteParameters: Hashable {
    /// Whether both have the same parameters by source, and native values under the same keys.
    public static func == (one: RouteParameters, other: RouteParameters) -> Bool {
        one.rule == other.rule && Source.allCases.allSatisfy { one[$0] == other[$0] }
            && one.objects.keys == other.objects.keys
    }

    /// Feeds the merged parameters.
    public func hash(into hasher: inout Hasher) { hasher.combine(merged) }
}
