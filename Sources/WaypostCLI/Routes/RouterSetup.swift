import Waypost
import WaypostTools

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
                throw Fault(detail: "a host needs the dialect reerRouter; this is \(name)")
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
            dialect: dialect, allowedSchemes: allowedSchemes,
            webPath: webPath.map(RouteKey.init(_:)), ignoresCase: ignoresCase, registersLinked: false)
    }
}

extension RouterConfiguration {
    /// The same with what a contract says of its router, where nothing else is set.
    func completed(by contract: RouterContract) -> RouterConfiguration {
        var configuration = self
        let settings = contract.settings
        if dialect == .waypost { configuration.dialect = settings.dialect }
        configuration.webPath =
            configuration.webPath
            ?? (settings.webPath ?? contract.routes.first { $0.kind == .web }?.path).map(RouteKey.init(_:))
        configuration.allowedSchemes = allowedSchemes ?? settings.allowedSchemes
        configuration.ignoresCase = ignoresCase || settings.ignoresCase
        configuration.serviceScheme = settings.serviceScheme
        configuration.serviceHost = settings.serviceHost
        return configuration
    }
}
