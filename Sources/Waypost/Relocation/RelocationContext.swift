import Glibc

/// What the conditions of a relocation map ask about a client.
public struct RelocationContext: Sendable {
    /// The name by which shares are drawn; nil when it has none.
    public var agent: String?
    /// The version of the app, like `2.4.1`; nil when it is not known.
    public var build: String?
    /// The language and region, like `de-AT` or `de_AT`; nil when they are not known.
    public var locale: String?
    /// The client's labels, like `region` = `eu`.
    public var labels: [String: String]
    /// The time in milliseconds since 1970; nil while the clock can't be trusted, and then no time window holds.
    ///
    /// The clock of the system unless set.
    package var now: @Sendable () -> Int64?
    /// Of which labels no value stands in a reason; that of the router, also when a program replaces the rest.
    var redaction = Redaction()

    /// A context; what is not named is not known.
    public init(
        agent: String? = nil, build: String? = nil, locale: String? = nil, labels: [String: String] = [:],
        now: (@Sendable () -> Int64?)? = nil
    ) {
        self.agent = agent
        self.build = build
        self.locale = locale
        self.labels = labels
        self.now = now ?? { Self.systemTime() }
    }

    /// The clock of the system, in milliseconds since 1970.
    package static func systemTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000
    }
}

/// Who asks for redirects, and when.
final class RelocationRequester: Sendable {
    let context: RelocationContext
    /// Milliseconds since 1970, one time for a whole open; nil while the clock can't be trusted.
    let now: Int64?
    /// The caller's parameters.
    let caller: [String: JSONValue]

    init(_ context: RelocationContext, caller: [String: JSONValue]) {
        self.context = context
        now = context.now()
        self.caller = caller
    }
}

/// What a condition is decided on, for one URL.
struct ConditionInput {
    let requester: RelocationRequester
    let url: RouteURL
    /// Where the placeholders of the origin are, and the table that knows them; nil for one without.
    let match: RouteMatch?
    let patterns: RouteTable?

    private var captured: [CapturedParameter] {
        match.flatMap { patterns?.parameters(of: $0, in: url) } ?? []
    }

    /// The text by which a share is drawn: of the caller, else of the origin's placeholder, else of the query.
    func value(of key: RelocationShare.Key) -> String? {
        switch key {
        case .agent: requester.context.agent
        case .parameter(let name):
            if let value = requester.caller[name] {
                Self.text(value)
            } else {
                captured.first { $0.name == name }?.text ?? url.query[name]
            }
        }
    }

    private static func text(_ value: JSONValue) -> String? {
        switch value {
        case .string(let text): text
        case .int, .bool: value.text
        case .null, .double, .array, .object: nil
        }
    }
}
