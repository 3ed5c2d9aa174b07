/// What differs between two lists of relocation entries: the origins and paths that they are about, one by one.
///
/// The order of entries counts only among those about the same origin or path: there the first whose condition holds
/// is used.
package struct RelocationChanges: Sendable, Hashable {
    /// One entry that differs.
    package struct Change: Sendable, Hashable {
        /// Nil for one that is added.
        package var before: RelocationEntry?
        /// Nil for one that goes.
        package var after: RelocationEntry?
    }

    /// Those of the newer list in its order, then those that go, in the order of the older.
    package private(set) var list: [Change] = []

    package var added: Int { list.count { $0.before == nil } }
    package var removed: Int { list.count { $0.after == nil } }
    package var changed: Int { list.count - added - removed }

    package init(from older: [RelocationEntry], to newer: [RelocationEntry]) {
        var left = Dictionary(grouping: older, by: \.subject).mapValues { $0[...] }
        for entry in newer {
            let before = left[entry.subject]?.popFirst()
            guard before != entry else { continue }
            list.append(Change(before: before, after: entry))
        }
        for entry in older where left[entry.subject]?.isEmpty == false {
            guard let gone = left[entry.subject]?.popFirst() else { continue }
            list.append(Change(before: gone, after: nil))
        }
    }
}
