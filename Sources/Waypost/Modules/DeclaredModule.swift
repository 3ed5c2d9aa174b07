import Threading

/// How far a declared module is, as its routes and services see it.
final class DeclaredModule: Sendable {
    enum Status: Sendable, Equatable {
        case declared
        case settingUp
        case ready
        case failed(String)
        /// It failed because of another module, and is tried again when one is declared.
        case blocked(String)

        var isLoading: Bool { self == .declared || self == .settingUp }

        /// Why it failed; nil when it did not.
        var reason: String? {
            switch self {
            case .failed(let reason), .blocked(let reason): reason
            case .declared, .settingUp, .ready: nil
            }
        }
    }

    let name: String
    /// The loader that sets it up.
    let loader: ObjectIdentifier
    var id: ObjectIdentifier { ObjectIdentifier(self) }
    private let current = Guarded(Status.declared)

    /// The modules in whose set-up this task runs: it may open URLs itself and must not wait for its own end.
    @TaskLocal static var settingUp: [DeclaredModule] = []

    /// Whether this task runs in its set-up, which may use what is its own.
    var isSettingUpHere: Bool { Self.settingUp.contains { $0 === self } }

    init(_ name: String, of loader: ObjectIdentifier) {
        self.name = name
        self.loader = loader
    }

    var status: Status {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Why it failed; nil when it did not.
    var failure: ModuleFailure? { failure(status) }

    /// Why it failed with that status; nil when it did not.
    func failure(_ status: Status) -> ModuleFailure? {
        status.reason.map { ModuleFailure(module: name, reason: $0) }
    }

    /// Whether its set-up has not ended.
    var isLoading: Bool { status.isLoading }

    /// Why nothing of it may run now; nil when it is set up.
    var obstacle: String? {
        // Read once: it may end in between.
        let status = status
        if status.isLoading { return "module \(name) is not set up yet" }
        return failure(status)?.description
    }
}

/// What has to be set up before something goes on.
enum ModuleNeed: Sendable {
    /// What everyone waits for: modules that are required, and others for as long as they are not slow.
    case common
    /// This module, and so what it depends on.
    case module(DeclaredModule)
    /// All: what is known so far is not enough.
    case all
}

/// Why a declared module is not in use.
public struct ModuleFailure: Sendable, Hashable {
    /// Its name.
    public var module: String
    /// One sentence with what was found.
    public var reason: String

    /// A failure by its parts.
    init(module: String, reason: String) {
        self.module = module
        self.reason = reason
    }
}

extension ModuleFailure: CustomStringConvertible {
    /// Name and sentence.
    public var description: String { "module \(module): \(reason)" }
}
