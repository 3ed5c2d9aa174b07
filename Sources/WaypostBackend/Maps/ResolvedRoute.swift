public import Waypost
import WaypostFleet
import WaypostMessages

/// Where a URL leads at an agent, or what a call runs; nothing was opened or called.
public struct ResolvedRoute: Sendable, Hashable {
    /// One redirect.
    public struct Hop: Sendable, Hashable {
        /// The URL that is redirected.
        public let from: String
        /// Where to.
        public let to: String
        /// The layer of the map that does it; nil for a redirect of the route's own, and for a fallback.
        public let layer: String?
        /// The number of its entry, from 1.
        public let entry: Int?
        /// The route that redirects by itself.
        public let route: String?
    }

    private let wire: ResolvedURL

    init(_ wire: ResolvedURL) { self.wire = wire }

    /// - Throws: `Failure` naming the field that is not as the protocol has it.
    init(_ json: JSONValue) throws(Failure) { wire = try ResolvedURL(json) }

    /// The URL that was asked for.
    public var url: String { wire.url }
    /// The URL after all redirects.
    public var final: String { wire.final }
    /// The pattern of its route; nil when none would be opened, and for a service URL.
    public var route: String? { wire.route }
    /// The method that a service URL or a call would run.
    public var method: String? { wire.method }
    /// The service of that method, for a call; a map may have replaced it.
    public var service: String? { wire.service }
    /// What a map lets the call return, as JSON text; nil when the method runs.
    public var answer: String? { wire.answer }
    /// The redirects, in order.
    public var hops: [Hop] {
        wire.hops.map { Hop(from: $0.from, to: $0.to, layer: $0.layer, entry: $0.entry, route: $0.route) }
    }
    /// The interceptors that would be asked, in order.
    public var interceptors: [String] { wire.interceptors }
    /// What was decided about entries with conditions or exceptions, for people.
    public var rules: [String] { wire.rules }
    /// Why nothing would be opened; nil when something would.
    public var failure: Failure? {
        wire.failure
    }

    /// The entries that close, gate, answer or replace it.
    var acting: [ResolvedURL.Acting] { wire.acting }

    package var json: JSONValue { wire.json }
}

/// As `waypost resolve --json` prints it.
extension ResolvedRoute: Encodable {
    /// Writes it as `waypost resolve --json` does.
    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
