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
    /// What the destination returned for callers in this process.
    var native: NativeValue?
    /// The patterns near a URL that no route matches; nil when one does, and in the history.
    var nearestRoutes: NearestRoutes?
    /// How long it took.
    public var duration: Duration
    /// The parameters that the destination got, after redirects and interceptors; when no route was found, those of
    /// the call.
    public internal(set) var parameters = RouteParameters.none
    // What most opens have none of; nil when all of it is as in a new one.
    var details: Boxed<Details>?

    struct Details: Sendable, Hashable {
        var metadata: [String: JSONValue] = [:]
        var presentation = Presentation()
        var ref: String?
        var caller: String?

        /// Those of an open whose destination got nothing; nil when they are as in a new one.
        static func of(_ context: OpenContext) -> Boxed<Details>? {
            let (ref, caller) = (context.ref, context.caller)
            return ref == nil && caller == nil ? nil : Boxed(Details(ref: ref, caller: caller))
        }

        /// Those of an open; nil when they are as in a new one.
        static func of(
            _ context: OpenContext, metadata: [String: JSONValue], _ presentation: Presentation
        ) -> Boxed<Details>? {
            let (ref, caller) = (context.ref, context.caller)
            if metadata.isEmpty, ref == nil, caller == nil, presentation == Presentation() { return nil }
            return Boxed(
                Details(metadata: metadata, presentation: presentation, ref: ref, caller: caller))
        }
    }

    /// What the author says about the route that took the URL; empty when none did.
    public var metadata: [String: JSONValue] {
        get { details?.value.metadata ?? [:] }
        set { change { $0.metadata = newValue } }
    }
    /// How the destination is shown.
    public var presentation: Presentation {
        get { details?.value.presentation ?? Presentation() }
        set { change { $0.presentation = newValue } }
    }
    /// The id of the command that opened the URL.
    public var ref: String? {
        get { details?.value.ref }
        set { change { $0.ref = newValue } }
    }
    /// Who asked for it: the sender of the command; nil for the program itself.
    public var caller: String? {
        get { details?.value.caller }
        set { change { $0.caller = newValue } }
    }

    private mutating func change(_ body: (inout Details) -> Void) {
        var changed = details?.value ?? Details()
        body(&changed)
        // Equal ones must be equal in this, too.
        details = changed == Details() ? nil : Boxed(changed)
    }

    /// The native value that the destination returned with ``RouteAnswer/opened(_:object:)``: a screen, a model.
    public var object: (any Sendable)? { native?.value }

    /// The native value that the destination returned; nil when there is none or it is of another type.
    public func object<T>(as type: T.Type = T.self) -> T? { native?.value as? T }

    /// ``parameters`` for a log: the values of secret keys are `***`, such as those of `token` and `password`.
    ///
    /// - Parameter keys: Secret keys beside the standard ones.
    public func redactedParameters(further keys: [String] = []) -> [String: JSONValue] {
        Redaction(further: keys).masked(parameters.merged)
    }

    /// Whether a destination, a service or a fallback took the URL.
    public var isSuccess: Bool {
        // Not by `code`, whose name would be compared.
        switch outcome {
        case .opened, .served, .fellBack: true
        case .intercepted, .notFound: false
        case .rejected(let failure), .failed(let failure): failure.code == .ok
        }
    }

    /// Why it did not end well; nil when it did.
    ///
    /// Similar patterns of a URL that no route matches are looked for when this is first read, among at most 20 000
    /// routes.
    public var failure: Failure? {
        switch outcome {
        case .opened, .served, .fellBack: nil
        case .intercepted: Failure(.intercepted, detail)
        case .notFound: Failure(.noRoute, detail, nearest: nearest)
        case .rejected(let failure), .failed(let failure): failure.code == .ok ? nil : failure
        }
    }

    /// The code and its name, for instance 404 `NO_ROUTE`.
    public var code: Code {
        switch outcome {
        case .opened, .served, .fellBack: .ok
        case .intercepted: .intercepted
        case .notFound: .noRoute
        case .rejected(let failure), .failed(let failure): failure.code
        }
    }

    /// One sentence that says how it ended; of the query of a URL it has the keys only.
    public var detail: String {
        switch outcome {
        case .opened: "opened \(RouteURL.withoutValues(url))"
        case .served: "served \(RouteURL.withoutValues(url))"
        case .intercepted(let name, let reason): "intercepted by \(name): \(reason)"
        case .notFound:
            NearestRoutes.text(url, after: hops, of: requested, nearestRoutes)
                + (nearest.isEmpty ? "" : "; similar are \(nearest.joined(separator: ", "))")
        case .rejected(let failure), .failed(let failure): failure.detail
        case .fellBack(let fallback):
            "\(RouteURL.withoutValues(requested)) was not opened; "
                + "fell back to \(RouteURL.withoutValues(fallback))"
        }
    }

    /// Similar names, for 404; at most three.
    ///
    /// See ``failure`` for when they are looked for.
    public var nearest: [String] {
        switch outcome {
        case .notFound: nearestRoutes?.patterns ?? []
        case .rejected(let failure), .failed(let failure): failure.nearest
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

// In an extension, for what is made of all its parts at once is not copied.
extension Opening {
    /// An opening by its parts, for tests of a listener; a router makes its own.
    public init(
        outcome: Outcome, route: String? = nil, requested: String, url: String? = nil, hops: [String] = [],
        value: JSONValue? = nil, duration: Duration = .zero, ref: String? = nil, caller: String? = nil
    ) {
        let url = url ?? requested
        self.init(
            outcome: outcome, route: route, requested: requested, url: url, hops: hops, value: value,
            duration: duration,
            details: ref == nil && caller == nil ? nil : Boxed(Details(ref: ref, caller: caller)))
    }

    /// The same for the history: what callers, screens and former routes hold must not live on there.
    var withoutValues: Opening {
        let outcome: Outcome = if case .served = outcome { .served(.null) } else { outcome }
        return Opening(
            outcome: outcome, route: route, requested: requested, url: url, hops: hops, duration: duration,
            details: details)
    }
}
