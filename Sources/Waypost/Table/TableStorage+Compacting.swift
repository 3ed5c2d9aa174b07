extension TableStorage {
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
        // Free specials are few; their texts go along rather than being told apart.
        var special: UInt32 = 1
        while special < specials.count {
            let record = specials[special]
            let text = fresh.append(
                old.bytes(record.text, count: Int(record.prefixLength) + Int(record.suffixLength)))
            specials.update(special) { $0.text = text }
            special += 1
        }
        texts = fresh
        deadText = 0
    }
}
