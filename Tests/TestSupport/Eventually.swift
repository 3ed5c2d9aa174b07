/// Waits for what shows only in a state, and not in an event.
///
/// Throws ``Timeout`` when there was no progress for `quiet`.
///
/// - Parameters:
///   - what: what is waited for, in the words of the failure.
///   - progress: how far it has come, where that can be seen before it holds.
///   - holds: asked every 2 ms at first, and every 50 ms in the end; no more than a quarter of the time.
public func eventually(
    _ what: String, within quiet: Duration = Patience.usual, progress: () -> Int = { 0 },
    _ holds: () async throws -> Bool
) async throws {
    var patience = Patience(quiet)
    var nextLook = ContinuousClock.now + Patience.look
    // The longer it lasts the less often it is asked: other tests need the processor more.
    var pause = Duration.milliseconds(2)
    while true {
        let asked = ContinuousClock.now
        if try await holds() { return }
        // A look may be a whole command.
        try await Task.sleep(for: max(pause, min((ContinuousClock.now - asked) * 3, .milliseconds(250))))
        pause = min(pause * 5 / 4, .milliseconds(50))
        guard ContinuousClock.now >= nextLook else { continue }
        nextLook = ContinuousClock.now + Patience.look
        if patience.isOver(at: progress()) { throw Timeout(what: what) }
    }
}
