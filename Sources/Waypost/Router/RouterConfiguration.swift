/// The settings of a router; they don't change while it exists.
public struct RouterConfiguration: Sendable {
    /// How patterns are read and parameters merged; Waypost's own unless set.
    public var dialect: Dialect
    /// The schemes that may be opened.
    ///
    /// Nil, the default, allows the schemes of the registered routes and of the service URL, and `http` and `https` when
    /// there is a web route. While all patterns have no scheme, it allows any; in ReerRouter's dialects while one has
    /// none. Kept in lower case.
    public var allowedSchemes: Set<String>? {
        didSet { allowedSchemes = Self.lowercased(allowedSchemes) }
    }
    /// The hosts that may be opened; nil, the default, means any.
    ///
    /// `*.example.com` allows all hosts below it. The host is the first component, also in an app's own scheme.
    public var allowedHosts: Set<String>?
    /// The URL of the route that `http` and `https` URLs go to when no other takes them.
    public var webPath: RouteKey?
    /// How a destination is shown when neither its route nor the call says it; push unless set.
    public var jumpType: JumpType
    /// The scheme of service URLs, in lower case; `scheme`, TheRouter's, unless set.
    public var serviceScheme: String {
        didSet { serviceScheme = serviceScheme.lowercased() }
    }
    /// The host of service URLs; `services` unless set.
    public var serviceHost: String
    /// How many redirects one open may follow; 8 unless set.
    public var maximumHops: Int
    /// The longest URL, in bytes; 2 048 unless set.
    public var maximumURLBytes: Int
    /// How long a handler may run; 10 seconds unless set, nil for no limit.
    public var handlerDeadline: Duration?
    /// How long an interceptor may take that names no deadline of its own; 10 seconds unless set.
    public var interceptorDeadline: Duration?
    /// How many opens the history keeps; 64 unless set.
    public var historyLength: Int
    /// Custom converters for typed placeholders, by the name before the colon.
    public var converters: [String: RouteConverter]
    /// Whether the literals of host and path match in either case: ASCII letters only, in routes, in redirects and in the
    /// scopes of interceptors.
    ///
    /// False unless set. What placeholders take keeps its case.
    public var ignoresCase: Bool
    /// Whether the router registers by itself, before its first use, what was declared without a list: by
    /// `@Routable`, `#route` and `@Service`.
    ///
    /// True unless set; when false, ``Router/registerLinked()`` does it. Nothing is read at start-up.
    public var registersLinked: Bool
    /// What the conditions of relocation maps ask about this client; not known unless set.
    ///
    /// ``Router/updateRelocationContext(_:)`` changes it later.
    public var relocationContext = RelocationContext()
    /// Takes opens, handlers and waits as spans; nothing unless set.
    public var tracer: (any RouterTracer)?
    /// The clock for deadlines.
    public var clock: any Clock<Duration>
    /// How much work checking the redirects of all maps may be.
    package var mapSteps = RelocationSteps.ofMap

    /// A configuration; everything has a default.
    public init(
        dialect: Dialect = .waypost, allowedSchemes: Set<String>? = nil, allowedHosts: Set<String>? = nil,
        webPath: RouteKey? = nil, jumpType: JumpType = .push, serviceScheme: String = "scheme",
        serviceHost: String = "services",
        maximumHops: Int = 8, maximumURLBytes: Int = 2048, handlerDeadline: Duration? = .seconds(10),
        interceptorDeadline: Duration? = .seconds(10), historyLength: Int = 64,
        converters: [String: RouteConverter] = [:], ignoresCase: Bool = false,
        registersLinked: Bool = true, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.dialect = dialect
        self.allowedSchemes = Self.lowercased(allowedSchemes)
        self.allowedHosts = allowedHosts
        self.webPath = webPath
        self.jumpType = jumpType
        self.serviceScheme = serviceScheme.lowercased()
        self.serviceHost = serviceHost
        self.maximumHops = maximumHops
        self.maximumURLBytes = maximumURLBytes
        self.handlerDeadline = handlerDeadline
        self.interceptorDeadline = interceptorDeadline
        self.historyLength = historyLength
        self.converters = converters
        self.ignoresCase = ignoresCase
        self.registersLinked = registersLinked
        self.clock = clock
    }

    private static func lowercased(_ schemes: Set<String>?) -> Set<String>? {
        schemes.map { Set($0.map { $0.lowercased() }) }
    }

    /// How patterns are read and matched.
    package var syntax: PatternSyntax {
        var syntax = dialect.syntax
        syntax.ignoresCase = ignoresCase
        return syntax
    }
}

extension RouteDescription {
    /// The converter of the pattern that a process with this configuration does not have; nil when it has all.
    ///
    /// Which URLs such a route takes is not known here.
    package func missingConverter(_ configuration: RouterConfiguration) -> String? {
        var syntax = configuration.syntax
        syntax.converterNames.formUnion(configuration.converters.keys)
        do throws(RoutePatternError) {
            _ = try RoutePattern(path, syntax: syntax)
        } catch {
            if case .unknownConverter(let name) = error.reason { return name }
        }
        return nil
    }
}
