import Synchronization
import Threading

/// Registers what was declared without a list, once, before a router is first used.
final class LinkedLoader: Sendable {
    private struct State {
        var isDone = false
        var failures: [LinkedFailure] = []
        var unreported: [LinkedFailure] = []
    }

    // Read at every use of the router, so it costs no lock once it is true.
    private let isDone: Atomic<Bool>
    // Read at every open.
    private let unreported = Atomic(false)
    private let isPrinted = Atomic(false)
    private let state = Guarded(State())

    /// Nothing to do by itself, when `skips` is true; ``load(_:into:)`` still does it when it is called.
    init(skips: Bool) {
        isDone = Atomic(skips)
    }

    /// Registers at the first call; others at the same time wait for it.
    func loadOnce(into router: Router) {
        guard !isDone.load(ordering: .acquiring) else { return }
        // Read before the lock: making the declared routes runs code that is not ours.
        load(.ofThisImage, into: router)
    }

    /// Registers these, unless something was registered before; false when it was.
    @discardableResult
    func load(_ records: LinkedRecords, into router: Router) -> Bool {
        let isFirst = state.withLock { state in
            guard !state.isDone else { return false }
            state.isDone = true
            state.failures = router.add(records)
            state.unreported = state.failures
            unreported.store(!state.failures.isEmpty, ordering: .releasing)
            return true
        }
        isDone.store(true, ordering: .releasing)
        return isFirst
    }

    /// What could not be registered.
    var failures: [LinkedFailure] { state.withLock { $0.failures } }

    /// Whether there are failures that no listener has heard of.
    var hasUnreported: Bool { unreported.load(ordering: .acquiring) }

    /// The failures that were not reported to a listener yet.
    func takeUnreported() -> [LinkedFailure] {
        guard unreported.exchange(false, ordering: .acquiringAndReleasing) else { return [] }
        return state.withLock { state in
            defer { state.unreported = [] }
            return state.unreported
        }
    }

    /// The same, once, for who has no listener; one that comes later still hears of them.
    func takeUnprinted() -> [LinkedFailure] {
        isPrinted.exchange(true, ordering: .acquiringAndReleasing) ? [] : failures
    }
}
