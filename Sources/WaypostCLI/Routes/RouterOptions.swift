import ArgumentParser
import Waypost
import WaypostBackend

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
