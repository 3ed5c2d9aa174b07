import Threading
import Waypost
import WaypostFleet
import WaypostMessages

/// What is on the disk at the start.
extension RelocationMaps {
    /// Puts the stored layers in force, before the network is there.
    func restore() throws(StoreError) {
        try restoreGroups()
        let (records, refused) = try store.commit { (try $0.maps(), try $0.refusedMaps()) }
        var layers = state.withLock(\.layers)
        layers.restore(records, trusted: rules.trusted)
        layers.refused = refused.filter { layers.isLayer(named: $0.key) }
        defer { restoreRollouts() }
        guard !records.isEmpty else {
            return state.withLock { state in
                state.layers = layers
                state.applied = AppliedMap(refused: layers.newestRefused, nextPatch: layers.nextPatch)
            }
        }
        if !layers.untrusted.isEmpty {
            let names = layers.untrusted.map { layers.name(of: $0) }.sorted().joined(separator: ", ")
            reporter.failed(
                .unsigned,
                "the stored map of \(names) is left out: too few trusted keys have signed it; "
                    + "send a signed one", in: .map)
        }
        if expiry == .revert { leaveOutExpired(&layers) }
        fit(&layers)
        for (key, error) in layers.unfit {
            let name = layers.name(of: key)
            guard layers.stored[key]?.isDamaged != true else {
                reporter.failed(
                    .disk,
                    "the stored map of \(name) is damaged on the disk; it is left out until it is sent again",
                    in: .map)
                continue
            }
            reporter.failed(
                error.code,
                "the stored map of \(name) does not fit this build; it stays stored and is left out: \(error)",
                in: .map)
        }
    }

    /// An expired map must not be in force until the first check.
    func leaveOutExpired(_ layers: inout MapLayers) {
        let now = clock.wall()
        if clockMonitor.isCorrect(at: now) {
            layers.revertExpired(at: now)
            checkTimeSoon()
        } else {
            layers.revertAllThatEnd()
            guard !layers.reverted.isEmpty else { return }
            reporter.log(
                .warning, "Map",
                "the clock can't be trusted; maps with an exp are left out until it can", isError: true)
        }
    }
}
