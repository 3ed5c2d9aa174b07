/// The result of opening one URL.
public struct Opening: Sendable, Hashable {
    /// How it ended.
    public var outcome: Outcome
    /// The pattern of the route that took the URL; nil when none did.
    public var route: String?
    /// The URL that the caller passed.
    public var requested: String
    /// The URL after all redirects.
    public var url: String
    /// The URLs that redirects led to, in order; empty without redirects.
    public var hops: [String]
    /// What the destination or the service returned.
    public var value: JSONValue?
    /// How the destination is shown.
    public var presentation: Presentation
    /// How long it took.
    public var duration: Duration
    /// The id of the command that opened the URL.
    public var ref: String?

    /// An opening by its parts.
    package init(
        outcome: Outcome, route: String? = nil, requested: String, url: String, hops: [String] = [],
        value: JSONValue? = nil, presentation: Presentation = Presentation(), duration: Duration = .zero,
        ref: String? = nil
    ) {
        self.outcome = outcome
        self.route = route
        self.requested = requested
        self.url = url
        self.hops = hops
        self.value = value
        self.presentation = presentation
        self.duration = duration
        self.ref = ref
    }

    /// Whether a destination, a service or a fallback took the URL.
    public var isSuccess: Bool { code == .ok }

    /// The wire protocol's code and name, for instance 404 `NO_ROUTE`.
    public var code: Code {
        switch outcome {
        case .opened, .served, .fellBack: .ok
        case .intercepted: .intercepted
        case .notFound: .noRoute
        case .rejected(let rejection): rejection.code
        case .failed(let failure): failure.code
        }
    }

    /// One sentence that says how it ended; of the query of a URL it has the keys only.
    public var detail: String {
        switch outcome {
        case .opened: "opened \(RouteURL.withoutValues(url))"
        case .served: "served \(RouteURL.withoutValues(url))"
        case .intercepted(let name, let reason): "intercepted by \(name): \(reason)"
        case .notFound(let nearest):
            "no route takes \(RouteURL.withoutValues(url))"
                + (nearest.isEmpty ? "" : "; similar are \(nearest.joined(separator: ", "))")
        case .rejected(let rejection): rejection.detail
        case .failed(let failure): failure.detail
        case .fellBack(let fallback):
            "no route takes \(RouteURL.withoutValues(requested)); "
                + "fell back to \(RouteURL.withoutValues(fallback))"
        }
    }

    /// Similar names, for 404.
    public var nearest: [String] {
        switch outcome {
        case .notFound(let nearest): nearest
        case .rejected(let rejection): rejection.nearest
        default: []
        }
    }

    /// The `result` of a reply: `{"route","url","hops","value"}`.
    package var json: JSONValue {
        [
            "route": route.map { .string($0) } ?? .null, "url": .string(url),
            "hops": .array(hops.map { .string($0) }), "value": value ?? .null,
        ]
    }
}
