import GRDB
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
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(2)
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            (schema, unfinished, reports, damage) = try queue.read { db in
                let schema = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
                let check = try String.fetchAll(db, sql: "PRAGMA integrity_check(5)").filter { $0 != "ok" }
                // The tables of another version may be others.
                guard schema == Schema.version else { return (schema, 0, 0, check) }
                return (
                    schema,
                    try Int.fetchOne(
                        db, sql: "SELECT count(*) FROM inbox WHERE state IN ('received', 'started')") ?? 0,
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM outbox") ?? 0, check
                )
            }
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
