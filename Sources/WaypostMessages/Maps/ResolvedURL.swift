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
    /// The method that a service URL or a call would run.
    package var method: String?
    /// The service of that method, for a call; a map may have replaced it.
    package var service: String?
    /// What a map lets the call return, as JSON text; nil when the method runs.
    package var answer: String?
    package var hops: [Hop] = []
    /// The interceptors that would be asked, in their order.
    package var interceptors: [String] = []
    /// What was decided about entries with conditions or exceptions, for people.
    package var rules: [String] = []
    /// The entries beside redirects that decided what happens: that close, gate, answer or replace it.
    package var acting: [Acting] = []

    /// An entry that acts.
    package struct Acting: Sendable, Hashable {
        package var layer: String
        /// The entry's number in its layer, from 1.
        package var entry: Int
    }
    /// Why nothing would be opened.
    package var failure: Failure?

    package init() {}

    /// The most bytes of an answer that are shown.
    private static let maximumAnswer = 1_024
    /// The most decisions that are listed for one URL.
    private static let maximumRules = 16

    package init(_ url: String, _ resolution: Resolution) {
        self.url = url
        final = resolution.url
        route = resolution.route
        method = resolution.method?.name
        service = resolution.service
        answer = resolution.answer.map { $0.text.cut(to: Self.maximumAnswer) }
        hops = resolution.redirects.map {
            Hop(from: $0.from, to: $0.to, layer: $0.layer, entry: $0.entry, route: $0.route)
        }
        interceptors = resolution.interceptors
        rules = resolution.decisions.prefix(Self.maximumRules).map {
            "entry \($0.index + 1) of \($0.layer): \($0.reason)"
        }
        let redirects = Set(hops.map { Acting(layer: $0.layer ?? "", entry: $0.entry ?? 0) })
        acting = resolution.decisions.filter(\.applies).prefix(Self.maximumRules)
            .map { Acting(layer: $0.layer, entry: $0.index + 1) }.filter { !redirects.contains($0) }
        failure = resolution.error
    }

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.required("url", &url)
        if fields.isReading { final = url }
        fields.optional("final", &final)
        fields.optional("route", &route, orNull: true)
        fields.optional("method", &method)
        fields.optional("service", &service)
        fields.optional("answer", &answer)
        fields.list("hops", &hops)
        fields.optional("interceptors", &interceptors)
        fields.optional("rules", &rules, unless: [])
        fields.list("acting", &acting, whenEmpty: false)
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

extension ResolvedURL.Acting: Payload {
    package init() { self.init(layer: "", entry: 0) }

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.required("layer", &layer)
        fields.required("entry", &entry)
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
