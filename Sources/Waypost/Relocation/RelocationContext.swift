import Threading

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
        self.now = now ?? { WallClock.now() }
    }

    /// Whether conditions can compare this with a version: numbers between dots, like `2.4.1` or `2.5.0-beta.1`.
    package static func isVersion(_ text: String) -> Bool { AppVersion(text) != nil }

    /// What is said of a build that conditions can't compare; nil for a version, and when it is not known.
    package var buildFault: String? {
        guard let build, !Self.isVersion(build) else { return nil }
        return "the build \(build.cut(to: 64)) of this client is no version like 2.4.1: no map entry with a "
            + "condition on it applies"
    }

    /// Whether conditions can compare this with a language: `de`, `de-AT`, `zh-Hans-CN`, `de_AT.UTF-8`.
    ///
    /// `C` and `POSIX`, a system's names for none, are no language.
    package static func isLocale(_ text: String) -> Bool {
        let subtags = RelocationCondition.subtags(text)
        guard let language = subtags.first, (2...8).contains(language.utf8.count), language != "posix" else {
            return false
        }
        return language.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
            && subtags.dropFirst().allSatisfy { subtag in
                (1...8).contains(subtag.utf8.count)
                    && subtag.utf8.allSatisfy {
                        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 &- 0x30 < 10
                    }
            }
    }
}

/// Who asks for redirects, and when.
package final class RelocationRequester: Sendable {
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

/// What a condition is decided on, for one URL or one call.
struct ConditionInput {
    /// What the URL of an open says.
    struct Page {
        let url: RouteURL
        /// Where the placeholders of the origin are, and the table that knows them.
        let match: RouteMatch
        let origins: RouteTable?
    }

    let requester: RelocationRequester
    /// Nil for a call, whose parameters are its arguments.
    let page: Page?

    /// The text by which a share is drawn: of the caller, else of the origin's placeholder, else of the query.
    func value(of key: RelocationShare.Key) -> String? {
        switch key {
        case .agent: requester.context.agent
        case .parameter(let name):
            if let value = requester.caller[name] {
                Self.text(value)
            } else if let page {
                page.origins?.parameters(of: page.match, in: page.url).first { $0.name == name }?.text
                    ?? page.url.query[name]
            } else {
                nil
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
