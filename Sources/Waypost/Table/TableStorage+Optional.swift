extension TableStorage {
    /// Adds a route whose pattern has optional parts: a record for each pattern that it stands for, or none.
    ///
    /// Only a route that takes exactly the same is replaced: of another one, a part would be left.
    func insertRows(
        _ pattern: RoutePattern, priority: Int64, takesDeeper: Bool, index: UInt32, replacing: Bool
    ) throws(RouteConflict) -> UInt32? {
        let rows = pattern.rows
        let rivals = rows.map { holder(of: $0, priority: priority) }
        if let rival = rivals.lazy.compactMap(\.self).first {
            let isSame = rivals.allSatisfy { other in
                guard let other, other.header.pointee.optional == pattern.optional else { return false }
                return other.header.pointee.index == rival.header.pointee.index
                    && other.pattern == rival.pattern
            }
            guard replacing, isSame else {
                throw RouteConflict(
                    pattern: pattern.text, rival: rival.pattern, priority: Int(priority),
                    rivalIndex: rival.header.pointee.index)
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
        while let header = record(of: pattern, priority: priority)?.header.pointee {
            // All records of a route come and go together, so those with its priority are its own.
            for row in pattern.rows { _ = remove(row, priority: header.priority) }
            removed.append(header.index)
        }
        return removed
    }
}
