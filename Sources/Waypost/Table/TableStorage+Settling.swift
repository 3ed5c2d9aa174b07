extension TableStorage {
    // Below this the usual pages do; a table that grows must be worth the copy.
    private static func smallestSettled(_ isGrowing: Bool) -> Int {
        isGrowing ? 4 * MemoryExtent.largePage : MemoryExtent.largePage
    }

    /// Moves all pages of a large table together, if more than a `share` of it, 0 through 1, lies scattered.
    ///
    /// As a growing array moves now and then, so that a route is seldom copied more than once; a change of
    /// a settled table of 100 000 routes scatters some twenty of its 1 500 pages.
    ///
    /// - Parameter isGrowing: whether indices keep the room they have.
    func settle(ifScattered share: Double, isGrowing: Bool) {
        let total = byteCount
        guard total >= Self.smallestSettled(isGrowing), scatteredShare > share else { return }
        // Pages are rounded up to cache lines each.
        let extent = MemoryExtent(
            byteCount: total + total / 256 - edges.byteCount - ways.byteCount
                + edges.settledByteCount(isGrowing) + ways.settledByteCount(isGrowing))
        nodes.settle(into: extent)
        specials.settle(into: extent)
        entries.settle(into: extent)
        layouts.settle(into: extent)
        edges.settle(into: extent, isGrowing: isGrowing)
        ways.settle(into: extent, isGrowing: isGrowing)
        texts.settle(into: extent)
    }

    /// How much lies scattered, 0 through 1.
    var scatteredShare: Double { Double(scatteredBytes) / Double(byteCount) }

    private var scatteredBytes: Int {
        nodes.scatteredBytes + specials.scatteredBytes + entries.scatteredBytes + layouts.scatteredBytes
            + edges.scatteredBytes + ways.scatteredBytes + texts.scatteredBytes
    }
}
