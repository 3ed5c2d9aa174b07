/// How patterns are read.
///
/// Only dialects need other settings than the default ones.
package struct PatternSyntax: Sendable, Hashable {
    /// Whether `*` and `**` are wildcards; otherwise they are literals, as in TheRouter.
    ///
    /// True unless set.
    package var wildcards: Bool
    /// The host of all patterns without a scheme; nil when the first component is the host.
    ///
    /// ReerRouter's Mode 2: with `"phoenix.com"` the key `user/profile`, with or without a leading slash, matches
    /// `myapp://phoenix.com/user/profile` and no URL with another host.
    package var host: String?
    /// Whether every route takes deeper URLs, as in KYRouter.
    ///
    /// False unless set.
    package var parentsTakeDeeper: Bool
    /// Whether the ASCII letters of literals match in either case.
    ///
    /// False unless set.
    package var ignoresCase = false
    /// The names that may stand before the colon of `<name:parameter>`, beside `path`.
    package var converterNames: Set<String>

    /// The names every syntax has: `int`, `double`, `bool`, `uuid`.
    package static let builtInConverterNames: Set<String> = Set(RouteConverter.builtIn)

    /// A syntax; the default values are those of Waypost's own dialect.
    package init(
        wildcards: Bool = true, host: String? = nil, parentsTakeDeeper: Bool = false,
        converterNames: Set<String> = PatternSyntax.builtInConverterNames
    ) {
        self.wildcards = wildcards
        self.host = host
        self.parentsTakeDeeper = parentsTakeDeeper
        self.converterNames = converterNames
    }
}
