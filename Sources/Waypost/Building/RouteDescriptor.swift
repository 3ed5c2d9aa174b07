/// Why a pattern and values make no URL.
public enum RouteGenerationError: Error, Hashable, Sendable {
    /// The pattern is not valid.
    case badPattern(String, detail: String)
    /// A placeholder has no value.
    case missing(String, pattern: String)
    /// There are more or fewer values than placeholders.
    case count(expected: Int, found: Int, pattern: String)
    /// A value does not fit its placeholder, or would make another URL: the pattern does not match the result.
    case unfit(name: String, value: String, pattern: String)
    /// A value can't be written in a URL or as JSON.
    case unencodable(String, detail: String)
}

extension RouteGenerationError: CustomStringConvertible {
    /// One sentence with the subject and what was found.
    public var description: String {
        switch self {
        case .badPattern(let pattern, let detail): "make a URL of \(pattern): \(detail)"
        case .missing(let name, let pattern): "make a URL of \(pattern): \(name) has no value"
        case .count(let expected, let found, let pattern):
            "make a URL of \(pattern): it takes \(expected) values but got \(found)"
        case .unfit(let name, let value, let pattern):
            "make a URL of \(pattern): \(name) cannot be \"\(value.cut(to: 64))\""
        case .unencodable(let key, let detail): "encode \(key): \(detail)"
        }
    }
}

/// Turns parameters into the URL of one pattern, and such a URL back into parameters.
///
///     let search = try RouteDescriptor("ky://search/:keyword")
///     try search.url(values: ["Hangzhou"])                   // ky://search/Hangzhou
///     try search.url(for: ["keyword": "a/b", "page": 2])     // ky://search/a%2Fb?page=2
///
/// Values are encoded, and each URL is checked against the pattern.
public struct RouteDescriptor: Sendable {
    /// The pattern.
    package let pattern: RoutePattern
    private let table: RouteTable
    /// The pairs of the pattern's query, when a placeholder stands among their values: `?page=:page`.
    private let template: [(key: String, value: String, slot: String?)]

    /// A descriptor of that pattern.
    ///
    /// - Parameters:
    ///   - pattern: The pattern.
    ///   - converters: Custom converters that the pattern names.
    public init(
        _ pattern: RouteKey, converters: [String: RouteConverter] = [:]
    ) throws(RouteGenerationError) {
        try self.init(pattern.rawValue, syntax: PatternSyntax(), converters: converters)
    }

    /// A descriptor of a pattern of a dialect.
    init(
        _ pattern: String, syntax: PatternSyntax, converters: [String: RouteConverter] = [:]
    ) throws(RouteGenerationError) {
        var table = RouteTable(syntax: syntax, converters: converters)
        do {
            self.pattern = try table.pattern(pattern)
            try table.add(self.pattern, index: 0)
        } catch {
            throw .badPattern(pattern, detail: error.words)
        }
        self.table = table
        template = Self.template(self.pattern.text)
    }

    /// The names of the placeholders, from left to right; `*` and `**` for those without one.
    ///
    /// Those in the pattern's query, `?page=:page`, come last. They take no part in matching.
    public var names: [String] { pattern.slots + template.compactMap(\.slot) }

    private static func template(_ pattern: String) -> [(key: String, value: String, slot: String?)] {
        guard let query = URLTextParts(pattern).query else { return [] }
        let pairs = RouteURL.Query(text: query).pairs.map { pair in
            let value = pair.value.utf8
            let isAngled = value.first == UInt8(ascii: "<") && value.last == UInt8(ascii: ">")
            let name =
                value.first == UInt8(ascii: ":")
                ? Substring(value.dropFirst())
                : isAngled ? Substring(value.dropFirst().dropLast()) : ""
            return (key: pair.key, value: pair.value, slot: name.isEmpty ? nil : String(name))
        }
        return pairs.contains { $0.slot != nil } ? pairs : []
    }

    /// The URL with these values: those that placeholders name in the path, the others in the query, by key.
    ///
    /// Of a pattern with optional parts it is the longest one whose placeholders all have a value. A null is left out; an
    /// array or object stands in the query as JSON text.
    /// - Parameters:
    ///   - values: The values, by the names of placeholders or by other keys.
    ///   - scheme: The scheme for a pattern that has none.
    public func url(
        for values: [String: JSONValue], scheme: String = ""
    ) throws(RouteGenerationError) -> String {
        let isGiven = { (name: String) in !(values[name] ?? .null).isNull }
        let rows = pattern.rows
        let row = rows.first { $0.slots.allSatisfy(isGiven) } ?? rows.last ?? pattern
        let names = row.slots + template.compactMap(\.slot)
        var texts: [String] = []
        for name in names {
            guard let value = values[name], !value.isNull else {
                throw .missing(name, pattern: pattern.text)
            }
            texts.append(value.plainText)
        }
        let taken = Set(names)
        let query = values.filter { !taken.contains($0.key) && !$0.value.isNull }
            .sorted { $0.key < $1.key }
            .map { (key: $0.key, value: $0.value.plainText) }
        return try url(row, texts, query: query, scheme: scheme)
    }

    /// The URL with these values in the places of the placeholders, from left to right.
    ///
    /// Of a pattern with optional parts it is the longest one with so many placeholders.
    public func url(values: [String], scheme: String = "") throws(RouteGenerationError) -> String {
        let others = template.compactMap(\.slot).count
        let row = pattern.rows.first { $0.slots.count + others == values.count }
        return try url(row ?? pattern, values, query: [], scheme: scheme)
    }

    /// The URL with the members of a structure: those that placeholders name in the path, the others in the query.
    public func url(from value: some Encodable, scheme: String = "") throws(RouteGenerationError) -> String {
        let json: JSONValue
        do {
            json = try JSONValueEncoder().encode(value)
        } catch {
            throw .unencodable(String(describing: type(of: value)), detail: error.words)
        }
        guard case .object(let members) = json else {
            throw .unencodable("\(type(of: value))", detail: "it is \(json.kind), not an object")
        }
        return try url(for: members, scheme: scheme)
    }

    /// The parameters in a URL of this pattern; nil when the pattern does not match.
    public func parameters(of url: String) -> RouteParameters? {
        guard let url = try? RouteURL(url) as RouteURL, let candidate = table.match(url).first else {
            return nil
        }
        var path: [String: JSONValue] = [:]
        for parameter in candidate.parameters { path[parameter.name] = JSONValue(parameter.value) }
        let (query, repeated) = url.queryParameters
        return RouteParameters(
            path: path, query: query, repeated: repeated, caller: [:], relocation: [:], objects: [:],
            rule: .callerOverPathOverQuery)
    }

    /// The URL of a pattern with these values in the places of its placeholders: KYRouter's
    /// `generateURLWithPattern:parameters:`, with encoding and with an error on a mismatch.
    public static func generateURL(
        _ pattern: RouteKey, _ values: [String]
    ) throws(RouteGenerationError) -> String {
        try RouteDescriptor(pattern).url(values: values)
    }

    private func url(
        _ row: RoutePattern, _ all: [String], query: [(key: String, value: String)], scheme: String
    ) throws(RouteGenerationError) -> String {
        let names = row.slots
        let count = names.count + template.compactMap(\.slot).count
        guard all.count == count else {
            throw .count(expected: count, found: all.count, pattern: pattern.text)
        }
        let values = Array(all.prefix(names.count))
        var others = all.dropFirst(names.count)
        let query =
            template.map { (key: $0.key, value: $0.slot == nil ? $0.value : others.popFirst() ?? "") } + query
        var components: [String] = []
        var left = values[...]
        for segment in row.segments {
            switch segment {
            case .literal(let text): components.append(text)
            case .partial(let prefix, _, let suffix, _):
                components.append(prefix + (left.popFirst() ?? "") + suffix)
            case .several(let prefix, let parts):
                components.append(parts.reduce(prefix) { $0 + (left.popFirst() ?? "") + $1.suffix })
            case .typed, .placeholder, .wildcard: components.append(left.popFirst() ?? "")
            case .rest:
                let rest = left.popFirst() ?? ""
                components += rest.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            }
        }
        let text: String
        do throws(RouteURLError) {
            text = try RouteURL(scheme: pattern.scheme ?? scheme, components: components, query: query).text
        } catch {
            throw unfit(names, values)
        }
        // What comes back must be what went in: an empty value would vanish, a typed one might not convert.
        guard let url = try? RouteURL(text) as RouteURL, url.components == components,
            let match = table.match(url).first
        else { throw unfit(names, values) }
        let found = match.parameters.map(\.text)
        guard found == values || names.contains("*") else { throw unfit(names, values, found) }
        return text
    }

    private func unfit(
        _ names: [String], _ values: [String], _ found: [String] = []
    ) -> RouteGenerationError {
        let named = zip(names, values)
        let culprit =
            zip(named, found).first { $0.1 != $1 }?.0
            ?? named.first { $0.1.isEmpty || $0.1 == "." || $0.1 == ".." } ?? named.first { _ in true }
        return .unfit(name: culprit?.0 ?? "", value: culprit?.1 ?? "", pattern: pattern.text)
    }
}

extension RoutePattern {
    fileprivate var slots: [String] { segments.flatMap(\.slots) }
}

extension RoutePattern.Segment {
    /// What the values for this segment are called.
    fileprivate var slots: [String] { self == .wildcard ? ["*"] : names }
}

extension RouteKey {
    /// The URL with these values: those that placeholders name in the path, the others in the query.
    ///
    /// - Parameters:
    ///   - values: The values, by the names of placeholders or by other keys.
    ///   - scheme: The scheme for a pattern that has none.
    /// - Throws: ``RouteGenerationError``; also for a pattern with custom converters or of another dialect, for which
    ///   there is ``Router/url(for:_:scheme:)``.
    public func url(
        _ values: [String: JSONValue] = [:], scheme: String = ""
    ) throws(RouteGenerationError) -> String {
        try RouteDescriptor(self).url(for: values, scheme: scheme)
    }
}

extension TypedRoute {
    /// The URL of this route; ``Router/url(for:scheme:)`` for a pattern without a scheme or with custom converters.
    ///
    /// - Throws: ``RouteGenerationError`` when a property does not fit its placeholder.
    public var url: String {
        get throws(RouteGenerationError) { try RouteDescriptor(Self.key).url(from: self) }
    }
}
