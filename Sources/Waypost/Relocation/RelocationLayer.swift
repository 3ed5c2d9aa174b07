/// The entries of one source: built in, a group's map, the agent's map, patches.
public struct RelocationLayer: Sendable, Hashable {
    /// The name under which it is reported: `agent`, `@all`, `patch`.
    public var name: String
    /// Its entries; a later one wins.
    public var entries: [RelocationEntry]

    /// A layer.
    public init(name: String, entries: [RelocationEntry]) {
        self.name = name
        self.entries = entries
    }

    /// The most entries of a layer that grows by patches.
    static let maximumPatched = 2000

    /// Adds the entries of a patch, in order: a later entry takes the place of an earlier one about the same path.
    package mutating func patch(_ newer: [RelocationEntry]) {
        let subjects = Set(newer.map(\.subjectKey))
        entries = entries.filter { !subjects.contains($0.subjectKey) } + newer
    }
}

extension RelocationEntry {
    /// One list that does what two layers do of which the second lies over the first.
    ///
    /// An entry without a condition hides those below about the same path; one with a condition is tried before them.
    package static func merged(
        _ lower: [RelocationEntry], under upper: [RelocationEntry]
    ) -> [RelocationEntry] {
        let hidden = Set(upper.filter { $0.when == nil }.map(\.subjectKey))
        return upper + lower.filter { !hidden.contains($0.subjectKey) }
    }

    /// What the entry is about: two entries about the same thing do not add up, the later one counts.
    var subjectKey: String {
        switch kind {
        case .replace(let origin, _), .reset(let origin, _): "redirect \(Self.compared(origin))"
        case .add(let path, _), .delete(let path): "path \(path)"
        default: pages.map { "pages \(Self.compared($0))" } ?? "call \(subject?.text ?? "")"
        }
    }

    /// An origin in the form in which URLs are compared with it, however its scheme, its host, its placeholders and what
    /// is encoded in it are written.
    private static func compared(_ origin: String) -> String {
        guard let read = try? RelocationOrigin(origin, index: 0, .ofDocuments) else { return origin }
        return String(decoding: read.key.bytes, as: UTF8.self)
    }
}

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
        var left = Dictionary(grouping: older, by: \.subjectKey).mapValues { $0[...] }
        for entry in newer {
            let before = left[entry.subjectKey]?.popFirst()
            guard before != entry else { continue }
            list.append(Change(before: before, after: entry))
        }
        for entry in older where left[entry.subjectKey]?.isEmpty == false {
            guard let gone = left[entry.subjectKey]?.popFirst() else { continue }
            list.append(Change(before: gone, after: nil))
        }
    }
}
