/// Waits for what shows only in a state, and not in an event.
///
/// Throws ``Timeout`` when there was no progress for `quiet`.
///
/// - Parameters:
///   - what: what is waited for, in the words of the failure.
///   - progress: how far it has come, where that can be seen before it holds.
///   - holds: asked every few milliseconds.
public func eventually(
    _ what: String, within quiet: Duration = Patience.usual, progress: () -> Int = { 0 },
    _ holds: () async throws -> Bool
) async throws {
    var patience = Patience(quiet)
    var nextLook = ContinuousClock.now + Patience.look
    while try await !holds() {
        // Other tests need the processor more.
        try await Task.sleep(for: .milliseconds(5))
        guard ContinuousClock.now >= nextLook else { continue }
        nextLook = ContinuousClock.now + Patience.look
        if patience.isOver(at: progress()) { throw Timeout(what: what) }
    }
}
