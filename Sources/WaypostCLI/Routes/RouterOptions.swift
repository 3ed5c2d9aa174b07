import ArgumentParser
import Waypost

/// The settings of the router that the routes are meant for.
struct RouterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The dialect of patterns and parameters: \(Dialect.names.joined(separator: ", ")).",
            valueName: "name"))
    var dialect = Dialect.waypost.name

    @Option(
        help: ArgumentHelp("For ReerRouter's Mode 2: patterns are paths under this host.", valueName: "host"))
    var host: String?

    @Option(
        help: ArgumentHelp(
            "The route for http and https URLs that match no other route.", valueName: "url"))
    var webPath: String?

    @Option(
        name: .customLong("allow-scheme"),
        help: ArgumentHelp(
            "A scheme that may be opened; may be repeated. Default: those of the routes.",
            valueName: "scheme"))
    var schemes: [String] = []

    @Flag(help: "Match the letters of host and path in either case.")
    var ignoreCase = false

    func validate() throws {
        do {
            _ = try setup()
        } catch {
            throw ValidationError(error.detail)
        }
    }

    /// The settings, checked.
    func setup() throws(RouterSetup.Fault) -> RouterSetup {
        try RouterSetup(
            dialect: dialect, host: host, webPath: webPath, allowedSchemes: schemes.isEmpty ? nil : schemes,
            ignoresCase: ignoreCase)
    }
}

/// A dialect and the few settings that a set of routes may need, checked.
struct RouterSetup: Hashable {
    /// What does not fit, as a sentence.
    struct Fault: Error {
        var detail: String
    }

    private(set) var dialect: Dialect
    private(set) var webPath: String?
    private(set) var allowedSchemes: Set<String>?
    private(set) var ignoresCase: Bool

    init(
        dialect name: String, host: String? = nil, webPath: String? = nil, allowedSchemes: [String]? = nil,
        ignoresCase: Bool = false
    ) throws(Fault) {
        guard var dialect = Dialect(name: name) else {
            throw Fault(
                detail: "the dialect \(name.debugDescription) is unknown; possible: "
                    + Dialect.names.joined(separator: ", "))
        }
        if let host {
            guard dialect == .reerRouter else {
                throw Fault(detail: "--host needs the dialect reerRouter; this is \(name)")
            }
            dialect = .reerRouter(host: host)
        }
        self.dialect = dialect
        self.webPath = webPath
        self.allowedSchemes = allowedSchemes.map(Set.init)
        self.ignoresCase = ignoresCase
    }

    var configuration: RouterConfiguration {
        RouterConfiguration(
            dialect: dialect, allowedSchemes: allowedSchemes, webPath: webPath,
            ignoresCase: ignoresCase, registersLinked: false)
    }
}
