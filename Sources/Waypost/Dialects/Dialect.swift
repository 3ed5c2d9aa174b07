/// The rules of the router that a team comes from: how patterns are read and how parameters are merged.
///
/// URLs and maps that were written for that router keep working.
public struct Dialect: Sendable, Hashable {
    /// The name in configurations: `waypost`, `theRouter`, `reerRouter`, `kyRouter`.
    package let name: String
    /// Which source wins when a key comes from several.
    public var merge: MergeRule
    /// Whether `route_fallback_url` is also opened when a route was found, but its page failed.
    ///
    /// False unless set; ReerRouter does it.
    public var fallsBackOnFailure = false
    /// Whether a pattern without a scheme opens with any also beside patterns that name one: in ReerRouter a key says
    /// nothing of schemes, whatever else is registered.
    package var keysTakeAnyScheme = false
    /// How patterns are read.
    package let syntax: PatternSyntax

    /// Waypost's own rules.
    public static let waypost = Dialect(
        name: "waypost", merge: .callerOverPathOverQuery, syntax: PatternSyntax())
    /// TheRouter's: `*` is an ordinary character, and a key from several sources becomes an array.
    public static let theRouter = Dialect(
        name: "theRouter", merge: .collect, syntax: PatternSyntax(wildcards: false))
    /// ReerRouter's Mode 1: patterns are host and path without a scheme, and the query wins over the caller.
    public static let reerRouter = Dialect(
        name: "reerRouter", merge: .queryOverCaller, fallsBackOnFailure: true, keysTakeAnyScheme: true,
        syntax: PatternSyntax())
    /// ReerRouter's Mode 2: patterns are paths under one host; URLs with another host are not found.
    public static func reerRouter(host: String) -> Dialect {
        Dialect(
            name: "reerRouter", merge: .queryOverCaller, fallsBackOnFailure: true, keysTakeAnyScheme: true,
            syntax: PatternSyntax(host: host))
    }
    /// KYRouter's: a route also takes the URLs below it that no other route takes, and the query wins over the path.
    public static let kyRouter = Dialect(
        name: "kyRouter", merge: .queryOverPath, syntax: PatternSyntax(parentsTakeDeeper: true))
}

extension Dialect {
    private static let all = [waypost, theRouter, reerRouter, kyRouter]

    /// The names of all dialects.
    package static var names: [String] { all.map(\.name) }

    /// The dialect of that name; nil for an unknown one.
    package init?(name: String) {
        guard let dialect = Self.all.first(where: { $0.name == name }) else { return nil }
        self = dialect
    }
}
