extension TableStorage {
    /// Moves all pages of a compacted table together again, once seven eighths of it lie scattered; indices keep
    /// the space they have.
    ///
    /// A table that has grown since waits until it is four times as large: so a route is seldom copied more than once.
    func compactAgain() {
        let total = byteCount
        guard movedBytes > 0, total >= 4 * movedBytes || total <= movedBytes * 5 / 4,
            scatteredBytes > total / 8 * 7
        else { return }
        let extent = MemoryExtent(byteCount: total + total / 256)
        compactRecords(into: extent)
        edges.move(into: extent)
        paths.move(into: extent)
        movedBytes = total
    }

    /// Frees the space that indices have for growing, and moves all pages of a large table together.
    ///
    /// A change of a compacted table of 100 000 routes scatters some twenty of its 1 500 pages: for less than a sixteenth
    /// of all, nothing is done.
    func compact() {
        let before = byteCount
        let total =
            before - edges.byteCount - paths.byteCount + edges.compactByteCount + paths.compactByteCount
        guard total >= MemoryExtent.largePage else {
            // The usual pages do.
            edges.compact(into: nil)
            paths.compact(into: nil)
            return
        }
        guard scatteredBytes + max(before - total, 0) > before / 16 else { return }
        // Pages are rounded up to cache lines each.
        let extent = MemoryExtent(byteCount: total + total / 256)
        compactRecords(into: extent)
        edges.compact(into: extent)
        paths.compact(into: extent)
        movedBytes = total
    }

    private func compactRecords(into extent: MemoryExtent) {
        nodes.compact(into: extent)
        nonLiterals.compact(into: extent)
        entries.compact(into: extent)
        layouts.compact(into: extent)
        texts.compact(into: extent)
    }

    /// The bytes of pages that lie by themselves.
    var scatteredBytes: Int {
        nodes.scatteredBytes + nonLiterals.scatteredBytes + entries.scatteredBytes + layouts.scatteredBytes
            + edges.scatteredBytes + paths.scatteredBytes + texts.scatteredBytes
    }

    /// Copies the texts that are still in use into a new arena, once more than half of the old one is dead.
    ///
    /// Texts are only ever added, so a table that lives through many changes would grow without end.
    func compactTexts() {
        var fresh = TextArena()
        let old = texts
        forEachEntry { index, entry in
            let text = fresh.append(old.bytes(entry.text, count: Int(entry.textLength)))
            entries.update(index) { $0.text = text }
            return true
        }
        edges.updateAll {
            if $0.isLong { $0.text = fresh.append(counted: TextArena.counted($0.text, in: old.directory)) }
        }
        // Free non-literal edges are few; their texts go along, so that they need not be known.
        var nonLiteral: UInt32 = 1
        while nonLiteral < nonLiterals.count {
            let record = nonLiterals[nonLiteral]
            let text = fresh.append(old.bytes(record.text, count: record.textLength))
            nonLiterals.update(nonLiteral) { $0.text = text }
            nonLiteral += 1
        }
        texts = fresh
        deadText = 0
    }
}
