package import Waypost

/// Where one URL would lead, as the answer to a `resolve` has it.
package struct ResolvedURL: Payload, Hashable {
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

    package var url = ""
    /// The URL after all redirects.
    package var final = ""
    /// Nil when no route would be opened, and for a service URL.
    package var route: String?
    /// The method that a service URL would call.
    package var method: String?
    package var hops: [Hop] = []
    /// The interceptors that would be asked, in their order.
    package var interceptors: [String] = []
    /// What was decided about entries with conditions or exceptions, for people.
    package var rules: [String] = []
    /// Why nothing would be opened.
    package var failure: Failure?

    package init() {}

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

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.required("url", &url)
        if fields.isReading { final = url }
        fields.optional("final", &final)
        fields.optional("route", &route, orNull: true)
        fields.optional("method", &method)
        fields.list("hops", &hops)
        fields.optional("interceptors", &interceptors)
        fields.optional("rules", &rules, unless: [])
        var part = failure.map(FailurePart.init)
        fields.optional("failure", &part, orNull: true)
        failure = part?.failure
    }
}

extension ResolvedURL.Hop: Payload {
    package init() { self.init(from: "", to: "") }

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.required("from", &from)
        fields.required("to", &to)
        fields.optional("layer", &layer, orNull: true)
        fields.optional("entry", &entry, orNull: true)
        fields.optional("route", &route)
    }
}

/// Why a URL would not be opened.
private struct FailurePart: Payload {
    var failure = Failure(.ok, "")

    init() {}
    init(_ failure: Failure) { self.failure = failure }

    mutating func describe(_ fields: inout PayloadFields) {
        fields.code(&failure.code)
        fields.name(of: &failure.code)
        fields.optional("detail", &failure.detail)
        fields.optional("nearest", &failure.nearest)
    }
}
