import Glibc

/// A look at the state file of an agent that does not run; it changes nothing.
///
/// An agent that runs keeps others from its file: then SQLite asks for no locks with each commit.
package struct StateInspection: Sendable {
    /// The version of the tables; 0 when nothing is stored.
    package let schema: Int
    /// What the next start will report as possibly lost; nil when nothing is.
    package let gap: String?
    /// Commands that have no final reply yet.
    package let unfinished: Int
    /// Reports that wait for the broker.
    package let reports: Int
    /// The last run; nil when none is known.
    package let run: AgentRun?
    /// When something was stored last, in milliseconds since 1970; nil when that is not known.
    package let lastStored: Int64?
    /// A damaged index, which the next start tries to make again; nil when there is none.
    package let damagedIndex: String?

    /// - Throws: ``StoreError`` when the next start would refuse the state, with the same sentence.
    package init(directory: String) throws(StoreError) {
        let path = "\(directory)/\(Store.fileName)"
        let continuity = try StateContinuity(
            directory: directory, wasUsed: StateContinuity.wasUsed(directory))
        guard !continuity.isEmpty else {
            gap = try continuity.gapOfNothing()
            (schema, unfinished, reports, damagedIndex, run, lastStored) = (0, 0, 0, nil, nil, nil)
            return
        }
        lastStored = Self.lastStored(in: directory)
        do {
            let db = try Database(path: path, isReadOnly: true, patience: 2_000)
            gap = try continuity.gap(in: db)
            schema = try db.integer("PRAGMA user_version")
            let damage = try db.problems(1).first
            if let damage, !damage.contains("index") { throw StoreError.damaged(path, damage) }
            damagedIndex = damage
            // The tables of another version may be others.
            let isKnown = schema == Schema.version
            unfinished =
                isKnown
                ? try db.integer(
                    "SELECT count(*) FROM inbox WHERE state IN ('received', 'held', 'resumed', 'started')")
                : 0
            reports = isKnown ? try db.integer("SELECT count(*) FROM outbox") : 0
            run = isKnown ? try Store.Transaction(database: db).run() : nil
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(error, path: path, doing: "read the state file")
        }
    }

    private static func lastStored(in directory: String) -> Int64? {
        [Store.fileName, "\(Store.fileName)-wal", MarkerFile.name].compactMap { name in
            var status = stat()
            guard stat("\(directory)/\(name)", &status) == 0 else { return nil as Int64? }
            return Int64(status.st_mtim.tv_sec) * 1_000 + Int64(status.st_mtim.tv_nsec) / 1_000_000
        }.max()
    }

    /// Whether a process holds the directory's lock.
    package static func isInUse(directory: String) -> Bool {
        // The path may be a named pipe; opening one would block.
        let path = "\(directory)/\(StateLock.fileName)"
        guard let descriptor = try? StateFile.openFile(path, O_RDONLY, "open the lock file") else {
            return false
        }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
