/// The habits of a router that a team comes from, as a handful of settings.
///
/// A dialect changes how patterns are read and parameters are merged, so that URLs and maps written for that
/// router keep working. It is a value: take one and change a setting where a team had its own ways.
public struct Dialect: Sendable, Hashable {
    /// The name under which it is configured: `waypost`, `theRouter`, `reerRouter`, `kyRouter`.
    public var name: String
    /// Who wins when a key comes from several sources.
    public var merge: MergeRule
    /// Whether `*` in a pattern is an ordinary character, as in TheRouter; false otherwise.
    public var starIsLiteral: Bool
    /// Whether patterns are keys without a scheme, as in ReerRouter: host and path, a leading slash optional.
    public var patternsAreKeys: Bool
    /// ReerRouter's Mode 2: keys are paths under this host, and a URL's host must be this one.
    public var host: String?
    /// Whether every route also takes the URLs below it that no other route takes, as in KYRouter.
    public var parentsTakeDeeper: Bool

    /// A dialect by its settings.
    public init(
        name: String, merge: MergeRule, starIsLiteral: Bool = false, patternsAreKeys: Bool = false,
        host: String? = nil, parentsTakeDeeper: Bool = false
    ) {
        self.name = name
        self.merge = merge
        self.starIsLiteral = starIsLiteral
        self.patternsAreKeys = patternsAreKeys
        self.host = host
        self.parentsTakeDeeper = parentsTakeDeeper
    }

    /// Waypost's own rules.
    public static let waypost = Dialect(name: "waypost", merge: .callerOverPathOverQuery)
    /// TheRouter's: `*` is literal, a key from several sources becomes an array.
    public static let theRouter = Dialect(name: "theRouter", merge: .collect, starIsLiteral: true)
    /// ReerRouter's Mode 1: patterns are host and path, the query beats the caller.
    public static let reerRouter = Dialect(name: "reerRouter", merge: .queryOverCaller, patternsAreKeys: true)
    /// ReerRouter's Mode 2: patterns are paths under one host.
    public static func reerRouter(host: String) -> Dialect {
        var dialect = reerRouter
        dialect.host = host
        return dialect
    }
    /// KYRouter's: a parent takes deeper URLs, the query beats the path.
    public static let kyRouter = Dialect(name: "kyRouter", merge: .queryOverPath, parentsTakeDeeper: true)

    private static let known = [waypost, theRouter, reerRouter, kyRouter]

    /// The names of all dialects.
    public static var names: [String] { known.map(\.name) }

    /// The dialect of that name; nil for an unknown one.
    public init?(name: String) {
        guard let dialect = Self.known.first(where: { $0.name == name }) else { return nil }
        self = dialect
    }
}
