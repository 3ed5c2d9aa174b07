import Glibc

/// A look at the state file of an agent that does not run; it changes nothing.
///
/// An agent that runs keeps others from its file: then SQLite asks for no locks with each commit.
package struct StateInspection: Sendable {
    /// The version of the tables.
    package let schema: Int
    /// The newest version that this build reads.
    package let supported: Int
    /// Commands that have no final reply yet.
    package let unfinished: Int
    /// Reports that wait for the broker.
    package let reports: Int
    /// What SQLite's own check found wrong.
    package let damage: [String]

    /// - Throws: ``StoreError`` when the file can't be read.
    package init(directory: String) throws(StoreError) {
        let path = "\(directory)/\(Store.fileName)"
        do {
            let db = try Database(path: path, isReadOnly: true, patience: 2_000)
            schema = try db.integer("PRAGMA user_version")
            damage = try db.problems(5)
            // The tables of another version may be others.
            let isKnown = schema == Schema.version
            unfinished =
                isKnown
                ? try db.integer("SELECT count(*) FROM inbox WHERE state IN ('received', 'started')") : 0
            reports = isKnown ? try db.integer("SELECT count(*) FROM outbox") : 0
            supported = Schema.version
        } catch {
            throw StoreError(error, path: path, doing: "read the state file")
        }
    }

    /// Whether a process holds the directory's lock.
    package static func isInUse(directory: String) -> Bool {
        let descriptor = open("\(directory)/lock", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
