/// The handle of something that was registered; `cancel()` removes it.
///
/// What was registered stays when the handle is released.
public struct RegistrationHandle: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    /// Ends the registration; a second call does nothing.
    public func cancel() {
        end()
    }
}
