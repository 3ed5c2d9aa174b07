/// The parameters of an open: by their source, and merged.
///
/// Values of the path and the query are text, except where a pattern names a type. A `null` is dropped:
/// a key has a value or is absent.
public struct RouteParameters: Sendable {
    /// Where a parameter came from.
    enum Source: String, Sendable, Hashable, CaseIterable {
        /// A placeholder of the pattern.
        case path
        /// The URL's query.
        case query
        /// The caller's own parameters.
        case caller
        /// The `params` of the relocation entries that were followed.
        case relocation
    }

    /// All of them, in one word that is nil when there are none: parameters are copied often.
    private struct Values: Sendable {
        var path: [String: JSONValue] = [:]
        var query: [String: JSONValue] = [:]
        var repeated: [String: [JSONValue]] = [:]
        var caller: [String: JSONValue] = [:]
        var relocation: [String: JSONValue] = [:]
        var objects: [String: any Sendable] = [:]

        var areNone: Bool {
            path.isEmpty && query.isEmpty && caller.isEmpty && relocation.isEmpty && objects.isEmpty
        }

        mutating func dropNulls() {
            Self.dropNulls(&path)
            Self.dropNulls(&query)
            Self.dropNulls(&caller)
            Self.dropNulls(&relocation)
        }

        mutating func rewrite(_ changes: [String: JSONValue]) {
            for (key, value) in changes {
                path[key] = nil
                query[key] = nil
                repeated[key] = nil
                relocation[key] = nil
                caller[key] = value.isNull ? nil : value
            }
        }

        private static func dropNulls(_ values: inout [String: JSONValue]) {
            guard !values.isEmpty, values.values.contains(where: \.isNull) else { return }
            values = values.filter { !$0.value.isNull }
        }
    }

    private var values: Boxed<Values>?
    /// Which source wins in `merged` and in typed access.
    var rule: MergeRule

    /// The values of the pattern's placeholders.
    public var path: [String: JSONValue] {
        get { values?.value.path ?? [:] }
        _modify { yield &changing.path }
    }
    /// The values of the URL's query; of a repeated key the last one.
    public var query: [String: JSONValue] {
        get { values?.value.query ?? [:] }
        _modify { yield &changing.query }
    }
    /// What the caller passed beside the URL.
    public var caller: [String: JSONValue] {
        get { values?.value.caller ?? [:] }
        _modify { yield &changing.caller }
    }
    /// What relocation entries added.
    var relocation: [String: JSONValue] {
        get { values?.value.relocation ?? [:] }
        _modify { yield &changing.relocation }
    }
    /// Native values of a caller in this process that can't be written as JSON: models, closures.
    public var objects: [String: any Sendable] {
        get { values?.value.objects ?? [:] }
        _modify { yield &changing.objects }
    }
    /// All values of those keys that the URL's query repeats; typed access reads them where a list is wanted.
    var repeated: [String: [JSONValue]] { values?.value.repeated ?? [:] }

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
        self.rule = rule
        var values = Values(
            path: path, query: query, repeated: repeated, caller: caller, relocation: relocation,
            objects: objects)
        guard !values.areNone else { return }
        values.dropNulls()
        self.values = Boxed(values)
    }

    /// All of them, changed where they lie: with a setter, each change of one key would copy all keys.
    private var changing: Values {
        get { values?.value ?? Values() }
        _modify {
            var changed = values?.value ?? Values()
            values = nil
            defer { values = Boxed(changed) }
            yield &changed
        }
    }

    /// Those of an open that has none.
    static let none = RouteParameters()

    /// Whether there are neither parameters nor native values.
    var isEmpty: Bool { values?.value.areNone ?? true }

    /// Whether a source has such a key.
    func hasKey(where isWanted: (String) -> Bool) -> Bool {
        guard let values = values?.value else { return false }
        func hasKey(_ values: [String: JSONValue]) -> Bool {
            !values.isEmpty && values.keys.contains(where: isWanted)
        }
        return hasKey(values.path) || hasKey(values.query) || hasKey(values.caller)
            || hasKey(values.relocation)
    }

    /// The parameters of one source.
    subscript(source: Source) -> [String: JSONValue] {
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
    mutating func rewrite(_ changes: [String: JSONValue]) {
        changing.rewrite(changes)
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
}

extension RouteParameters: Hashable {
    /// Whether both have the same parameters by source, and native values under the same keys.
    public static func == (one: RouteParameters, other: RouteParameters) -> Bool {
        guard one.rule == other.rule else { return false }
        return one.values === other.values
            || Source.allCases.allSatisfy { one[$0] == other[$0] } && one.objects.keys == other.objects.keys
    }

    /// Feeds the merged parameters.
    public func hash(into hasher: inout Hasher) { hasher.combine(merged) }
}

/// Which source wins when the same key comes from several sources of an open's parameters.
///
/// Parameters of a relocation entry count as the caller's, and win over them.
public enum MergeRule: String, Sendable, Hashable, CaseIterable {
    /// The caller over the path's placeholders over the query: Waypost's own rule.
    case callerOverPathOverQuery
    /// The query over the caller, as in ReerRouter.
    case queryOverCaller
    /// The query over the path's placeholders, and both over the caller, as in KYRouter.
    case queryOverPath
    /// None: a key in several sources becomes an array, the URL's value first, as in TheRouter.
    case collect

    /// The sources, the one that wins first.
    var order: [RouteParameters.Source] {
        switch self {
        case .callerOverPathOverQuery: [.relocation, .caller, .path, .query]
        case .queryOverCaller: [.query, .relocation, .caller, .path]
        case .queryOverPath: [.query, .path, .relocation, .caller]
        case .collect: [.query, .path, .caller, .relocation]
        }
    }
}

/// A value of this process that can't be written as JSON: a screen, a model, a closure.
///
/// Two are equal when they are copies of one.
struct NativeValue: Sendable, Hashable {
    private final class Box: Sendable {
        let value: any Sendable

        init(_ value: any Sendable) { self.value = value }
    }

    private let box: Box

    /// A native value.
    init(_ value: any Sendable) { box = Box(value) }

    /// The value itself.
    var value: any Sendable { box.value }

    /// Whether both are copies of one.
    static func == (one: NativeValue, other: NativeValue) -> Bool { one.box === other.box }

    /// Feeds which one it is.
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(box)) }
}

/// A value that lies elsewhere: what holds it is one word, whatever the value is made of.
///
/// For the parts of a structure that it mostly does not have.
final class Boxed<Value: Sendable>: Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}

extension Boxed: Equatable where Value: Equatable {
    static func == (one: Boxed, other: Boxed) -> Bool { one === other || one.value == other.value }
}

extension Boxed: Hashable where Value: Hashable {
    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
