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
    }

    let name: String
    private let current = Guarded(Status.declared)

    init(_ name: String) { self.name = name }

    var status: Status {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Why it failed; nil when it did not.
    var failure: ModuleFailure? {
        switch status {
        case .failed(let reason), .blocked(let reason): ModuleFailure(module: name, reason: reason)
        case .declared, .settingUp, .ready: nil
        }
    }

    /// Whether its set-up has not ended.
    var isLoading: Bool {
        switch status {
        case .declared, .settingUp: true
        case .ready, .failed, .blocked: false
        }
    }

    /// Why nothing of it may run now; nil when it is set up.
    var obstacle: String? { failure?.description ?? (isLoading ? "module \(name) is not set up yet" : nil) }
}

/// Why a declared module is not in use.
public struct ModuleFailure: Sendable, Hashable {
    /// Its name.
    public var module: String
    /// One sentence with what was found.
    public var reason: String

    /// A failure by its parts.
    package init(module: String, reason: String) {
        self.module = module
        self.reason = reason
    }
}

extension ModuleFailure: CustomStringConvertible {
    /// Name and sentence.
    public var description: String { "module \(module): \(reason)" }
}
