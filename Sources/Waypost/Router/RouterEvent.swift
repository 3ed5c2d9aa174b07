/// Something that happened while a URL was opened, for logs and listeners.
public struct RouterEvent: Sendable, Hashable {
    /// What happened.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// An open begins.
        case willOpen
        /// A destination or a service took the URL.
        case opened
        /// The open did not succeed; `code` says why.
        case failed
        /// The open went to its `route_fallback_url`.
        case fellBack
        /// A redirect was followed; `url` is where it leads.
        case redirected
        /// An interceptor stopped the open.
        case intercepted
        /// An interceptor lets the open wait.
        case waiting
        /// Something was wrong, but did not stop the open.
        case warned
    }

    /// What happened.
    public var kind: Kind
    /// The URL it happened to.
    public var url: String
    /// The pattern that matched, once one has.
    public var route: String?
    /// The id of the command that opens the URL.
    public var ref: String?
    /// One sentence; only that of `willOpen` and `redirected` has values of parameters, in the query of its URLs.
    public var detail: String
    /// The wire protocol's code; `ok` while nothing is wrong.
    public var code: Code
    /// Similar names, for 404.
    public var nearest: [String]

    /// An event by its parts, for tests of a listener; a router makes its own.
    public init(
        _ kind: Kind, url: String, route: String? = nil, ref: String? = nil, detail: String = "",
        code: Code = .ok, nearest: [String] = []
    ) {
        self.kind = kind
        self.url = url
        self.route = route
        self.ref = ref
        self.detail = detail
        self.code = code
        self.nearest = nearest
    }

    /// Whether this is TheRouter's log type 1.
    public var isError: Bool { code != .ok }
}
