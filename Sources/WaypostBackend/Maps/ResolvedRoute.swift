import Waypost

/// Where a URL leads at an agent; nothing was opened.
public struct ResolvedRoute: Sendable, Hashable {
    /// One redirect.
    public struct Hop: Sendable, Hashable {
        /// The URL that is redirected.
        public let from: String
        /// Where to.
        public let to: String
        /// The layer of the map that does it; nil for a redirect of the route's own.
        public let layer: String?
        /// The number of its entry, from 1.
        public let entry: Int?
    }

    /// The URL that was asked for.
    public let url: String
    /// The URL that would be opened.
    public let final: String?
    /// The pattern of its route.
    public let route: String?
    /// The redirects, in order.
    public let hops: [Hop]
    /// The interceptors that would be asked.
    public let interceptors: [String]
    /// Why nothing would be opened, for people; nil when something would.
    public let failure: String?

    init(_ json: JSONValue) {
        url = json["url"]?.stringValue ?? ""
        final = json["final"]?.stringValue
        route = json["route"]?.stringValue
        hops = (json["hops"]?.arrayValue ?? []).map { hop in
            Hop(
                from: hop["from"]?.stringValue ?? "", to: hop["to"]?.stringValue ?? "",
                layer: hop["layer"]?.stringValue, entry: hop["entry"]?.intValue.map { Int(clamping: $0) })
        }
        interceptors = (json["interceptors"]?.arrayValue ?? []).compactMap(\.stringValue)
        let fault = json["failure"]
        failure = fault?["name"]?.stringValue.map {
            "\($0): \(fault?["detail"]?.stringValue ?? "no detail given")"
        }
    }
}
