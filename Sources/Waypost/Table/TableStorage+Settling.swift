extension TableStorage {
    /// Moves all pages of a table that was settled together again, once seven eighths of it lie scattered; indices keep
    /// the room they have.
    ///
    /// A table that has grown since waits until it is four times as large: so a route is seldom copied more than once.
    func settleAgain() {
        let total = byteCount
        guard movedBytes > 0, total >= 4 * movedBytes || total <= movedBytes * 5 / 4,
            scatteredBytes > total / 8 * 7
        else { return }
        let extent = MemoryExtent(byteCount: total + total / 256)
        settleRecords(into: extent)
        edges.move(into: extent)
        ways.move(into: extent)
        movedBytes = total
    }

    /// Takes back the room that indices have to grow, and moves all pages of a large table together.
    ///
    /// A change of a settled table of 100 000 routes scatters some twenty of its 1 500 pages: for less than a sixteenth
    /// of all, nothing is done.
    func settle() {
        let before = byteCount
        let total = before - edges.byteCount - ways.byteCount + edges.settledByteCount + ways.settledByteCount
        guard total >= MemoryExtent.largePage else {
            // The usual pages do.
            edges.settle(into: nil)
            ways.settle(into: nil)
            return
        }
        guard scatteredBytes + max(before - total, 0) > before / 16 else { return }
        // Pages are rounded up to cache lines each.
        let extent = MemoryExtent(byteCount: total + total / 256)
        settleRecords(into: extent)
        edges.settle(into: extent)
        ways.settle(into: extent)
        movedBytes = total
    }

    private func settleRecords(into extent: MemoryExtent) {
        nodes.settle(into: extent)
        specials.settle(into: extent)
        entries.settle(into: extent)
        layouts.settle(into: extent)
        texts.settle(into: extent)
    }

    /// The bytes of pages that lie by themselves.
    var scatteredBytes: Int {
        nodes.scatteredBytes + specials.scatteredBytes + entries.scatteredBytes + layouts.scatteredBytes
            + edges.scatteredBytes + ways.scatteredBytes + texts.scatteredBytes
    }
}
