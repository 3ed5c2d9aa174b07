import Waypost

extension Store {
    /// What was found and done.
    struct Opened {
        let database: Database
        let marker: StateMarker
        let pageSize: Int
        let repairs: [String]
    }

    /// Opens the database and counts the first commit of this start; nothing is changed when it can't be gone on with.
    static func open(
        _ file: StateFile, _ continuity: StateContinuity
    ) throws(StoreError) -> Opened {
        try file.keepPrivate()
        let path = file.path
        do {
            let db = try Database(path: path)
            // Closing would write the log of another database into this one.
            try db.keepLogWhenClosed(true)
            db.watchLog()
            try db.execute("PRAGMA locking_mode = EXCLUSIVE")
            let isNew = try db.integer("PRAGMA user_version") == 0
            let gap = try continuity.gap(in: db)
            // Before the first table, so that pages can be returned to the file system.
            try db.execute(
                """
                PRAGMA auto_vacuum = INCREMENTAL;
                PRAGMA journal_mode = WAL;
                PRAGMA synchronous = FULL;
                PRAGMA journal_size_limit = \(StateFile.usualLog);
                PRAGMA cache_size = -500;
                """)
            return try db.transact {
                let repair = try check(db, path)
                try Schema.migrate(db, path: path)
                guard try Schema.isIntact(db) else {
                    throw StoreError(.corrupt, path: path, detail: "its tables have other columns")
                }
                let transaction = Transaction(database: db)
                let values = try transaction.removeDamagedValues()
                let marker = try transaction.countStart(
                    path, after: continuity.epoch, isNew: isNew, isGap: gap != nil)
                return Opened(
                    database: db, marker: marker, pageSize: try db.integer("PRAGMA page_size"),
                    repairs: [gap, repair, values].compactMap(\.self))
            }
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(error, path: path, doing: "open the state file")
        }
    }

    /// Checks the structure of the file; what can be put right is, and is returned as a text.
    private static func check(_ db: Database, _ path: String) throws -> String? {
        guard let found = try db.problems(1).first else { return nil }
        // An index that misses a row would let a known id run again. It can be made again from the rows; before that,
        // it has the keys of rows that changed.
        if found.contains("index") {
            let transaction = Transaction(database: db)
            // Rows of an older version have no digest that would say which of the two is right.
            let isCurrent = try db.integer("PRAGMA user_version") == Schema.version
            let keys = isCurrent ? (try? transaction.indexedKeys()) ?? [] : []
            if (try? db.execute("REINDEX")) != nil, try db.problems(1).isEmpty {
                try transaction.restore(keys)
                return "an index of the state file was damaged (\(found)) and was rebuilt"
            }
        }
        throw StoreError.damaged(path, found)
    }
}

extension Store.Transaction {
    /// Counts the first commit of a start, with an epoch above the one before.
    ///
    /// - Parameter isGap: whether commits of the last start are missing.
    fileprivate func countStart(
        _ path: String, after epoch: Int64, isNew: Bool, isGap: Bool
    ) throws -> StateMarker {
        try keepEpoch(above: epoch)
        if isNew || isGap { try liftEpoch() }
        // What the broker sends again may have been running.
        if isGap { try setStoppedCleanly(false) }
        guard var marker = try marker() else {
            throw StoreError(.corrupt, path: path, detail: "its marker is damaged")
        }
        marker.commits += 1
        marker.epoch = try self.epoch()
        try save(marker)
        return marker
    }
}
