package import Waypost

/// Where one URL would lead, as the answer to a `resolve` has it.
package struct ResolvedURL: Sendable, Hashable {
    /// One redirect.
    package struct Hop: Sendable, Hashable {
        package var from: String
        package var to: String
        /// The relocation layer whose entry redirects; nil for a route's own redirect, and for a fallback.
        package var layer: String?
        /// The entry's number in its layer, from 1.
        package var entry: Int?
        /// The route that redirects by itself.
        package var route: String?
    }

    package var url: String
    /// The URL after all redirects.
    package var final: String
    /// Nil when no route would be opened, and for a service URL.
    package var route: String?
    /// The method that a service URL would call.
    package var method: String?
    package var hops: [Hop]
    /// The interceptors that would be asked, in their order.
    package var interceptors: [String]
    /// What was decided about entries with conditions or exceptions, for people.
    package var rules: [String]
    /// Why nothing would be opened.
    package var failure: Failure?
}

extension ResolvedURL {
    /// The most decisions that are listed for one URL.
    private static let maximumRules = 16

    package init(_ url: String, _ resolution: Resolution) {
        self.url = url
        final = resolution.url
        route = resolution.route
        method = resolution.method?.name
        hops = resolution.redirects.map {
            Hop(from: $0.from, to: $0.to, layer: $0.layer, entry: $0.entry, route: $0.route)
        }
        interceptors = resolution.interceptors
        rules = resolution.decisions.prefix(Self.maximumRules).map {
            "entry \($0.index + 1) of \($0.layer): \($0.reason)"
        }
        failure = resolution.error
    }

    package var json: JSONValue {
        func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
        var members: [String: JSONValue] = [
            "url": .string(url), "final": .string(final), "route": text(route),
            "hops": .array(hops.map(\.json)),
            "interceptors": .array(interceptors.map(JSONValue.string)), "failure": failure?.json ?? .null,
        ]
        if let method { members["method"] = .string(method) }
        if !rules.isEmpty { members["rules"] = .array(rules.map(JSONValue.string)) }
        return .object(members)
    }

    /// - Throws: ``Failure`` naming the field that is not as the protocol has it.
    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        url = try fields.required("url", fields.text("url"))
        final = try fields.text("final") ?? url
        route = try fields.text("route")
        method = try fields.text("method")
        hops = []
        for hop in fields["hops"]?.arrayValue ?? [] { hops.append(try Hop(hop)) }
        interceptors = (fields["interceptors"]?.arrayValue ?? []).compactMap(\.stringValue)
        rules = (fields["rules"]?.arrayValue ?? []).compactMap(\.stringValue)
        failure = try fields["failure"].map(Failure.init(json:))
    }
}

extension ResolvedURL.Hop {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [
            "from": .string(from), "to": .string(to), "layer": layer.map { .string($0) } ?? .null,
            "entry": entry.map { .int(Int64($0)) } ?? .null,
        ]
        if let route { members["route"] = .string(route) }
        return .object(members)
    }

    fileprivate init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        self.init(
            from: try fields.required("from", fields.text("from")),
            to: try fields.required("to", fields.text("to")), layer: try fields.text("layer"),
            entry: try fields.integer("entry").map { Int(clamping: $0) }, route: try fields.text("route"))
    }
}

extension Failure {
    fileprivate var json: JSONValue {
        [
            "code": .int(Int64(code.number)), "name": .string(code.name), "detail": .string(detail),
            "nearest": .array(nearest.map(JSONValue.string)),
        ]
    }

    fileprivate init(json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        let number = try fields.required("code", fields.integer("code"))
        self.init(
            Code(number: Int(clamping: number), name: try fields.text("name") ?? ""),
            try fields.text("detail") ?? "",
            nearest: (fields["nearest"]?.arrayValue ?? []).compactMap(\.stringValue))
    }
}
