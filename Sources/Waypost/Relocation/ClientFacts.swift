/// What the conditions of maps ask about this client, beside its name and the time.
public struct ClientFacts: Sendable, Hashable {
    /// The version of the app, like `2.4.1`; nil, the default, leaves what the router knows.
    package var build: String?
    /// The language and region, like `de-AT`, or as the system has them, `de_AT.UTF-8`; nil, the default, leaves what the router knows.
    package var locale: String?
    /// The client's labels, like `region` = `eu`, beside those that the router knows; at most 32.
    package var labels: [String: String]

    /// The most labels.
    package static let maximumLabels = 32
    /// The longest value, in bytes: that of a condition.
    package static let maximumBytes = 128

    /// Facts by their parts.
    public init(build: String? = nil, locale: String? = nil, labels: [String: String] = [:]) {
        self.build = build
        self.locale = locale
        self.labels = labels
    }

    /// Lays them over what a router knows already.
    package func apply(to context: inout RelocationContext) {
        if let build { context.build = build }
        if let locale { context.locale = locale }
        context.labels.merge(labels) { _, new in new }
    }
}
