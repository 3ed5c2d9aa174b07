extension TableStorage {
    /// Adds a route whose pattern has optional parts: an entry for each pattern that it stands for, or none.
    ///
    /// Only a route that takes exactly the same is replaced: of another one, a part would be left.
    func insertRows(
        _ pattern: RoutePattern, priority: Int64, takesDeeper: Bool, index: UInt32, replacing: Bool
    ) throws(RouteConflict) -> UInt32? {
        let rows = pattern.rows
        let rivals = rows.map { holder(of: $0, priority: priority) }
        if let rival = rivals.lazy.compactMap(\.self).first {
            let text = patternText(rival)
            let isSame = rivals.allSatisfy { other in
                guard let other, captures[Int(other.layout)].optional == pattern.optional else {
                    return false
                }
                return other.index == rival.index && patternText(other) == text
            }
            guard replacing, isSame else {
                throw RouteConflict(
                    pattern: pattern.text, rival: text, priority: Int(priority), rivalIndex: rival.index)
            }
        }
        var replaced: UInt32?
        for row in rows {
            replaced = try insert(
                row, priority: priority, takesDeeper: takesDeeper, index: index, replacing: replacing)
        }
        return replaced
    }

    /// Removes such a route, with any priority or with one, and returns the indices.
    func removeRows(_ pattern: RoutePattern, priority: Int64?) -> [UInt32] {
        var removed: [UInt32] = []
        while let entry = entry(of: pattern, priority: priority) {
            // All entries of a route come and go together, so those with its priority are its own.
            for row in pattern.rows { _ = remove(row, priority: entry.priority) }
            removed.append(entry.index)
        }
        return removed
    }

    /// The entry in the place that a pattern would get.
    private func holder(of pattern: RoutePattern, priority: Int64) -> TableEntry? {
        let found = pattern.text.utf8Span.span.withUnsafeBufferPointer { findEnd(of: pattern, in: $0) }
        guard let (end, _) = found else { return nil }
        let scheme = schemeNode(of: pattern)
        var next = nodes[end].terminal
        while next != 0 {
            let entry = entries[next]
            if entry.priority == priority, entry.scheme == scheme { return entry }
            next = entry.next
        }
        return nil
    }
}
