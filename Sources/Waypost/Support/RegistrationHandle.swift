/// Keeps something registered; `cancel()` ends it.
///
/// Letting go of the handle changes nothing: what was registered stays.
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
