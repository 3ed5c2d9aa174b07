/// The handle of something that was registered; `cancel()` removes it.
///
/// What was registered stays when the handle is released.
public struct RegistrationHandle: Sendable {
    /// The patterns of the routes that it replaced, and the names of destinations; empty where nothing was.
    public let replaced: [String]
    private let end: @Sendable () -> Void

    init(replaced: [String] = [], _ end: @escaping @Sendable () -> Void) {
        self.replaced = replaced
        self.end = end
    }

    /// Ends the registration; a second call does nothing.
    public func cancel() {
        end()
    }
}
