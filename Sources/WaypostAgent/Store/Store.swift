import CSQLite
import Glibc
import Metrics
import Synchronization
import Threading
import Waypost

/// Everything that must survive: commands, replies, failure reports, maps, the epoch; one SQLite file, one writer.
package final class Store: Sendable {
    /// The database's name in the state directory.
    static let fileName = "waypost.sqlite"

    /// How many pages the log holds before they are written back, unless set.
    static let usualLogPages = 2_000

    package let path: String
    /// What the operator should know of how the file was found.
    let notices: [String]
    /// What was damaged and could be put right, and what may be lost.
    let repairs: [String]
    /// Whether the disk takes what is committed.
    let disk: DiskHealth
    private let logPages: Int
    private let pageSize: Int
    private let commits = Atomic<Int>(0)
    /// SQLite parses the question again each time, and the file system is slow to answer.
    private static let changesBetweenLooks = 16
    /// How many rows had been changed at the last look; SQLite begins at −2³¹ again after 2³¹ − 1.
    private let measuredChanges = Atomic<Int>(-changesBetweenLooks)
    /// The file, until it is closed, behind the lock that lets one transaction follow the other.
    private let database: Guarded<Database?>
    private let lock: StateLock
    private let file: StateFile
    private let marker: MarkerFile
    /// Whether each commit counts, and not only the first of a start.
    private let countsCommits: Bool
    /// Whether the number of the last commit stands in rows of the inbox alone.
    private let isMarkerBehind = Atomic<Bool>(false)
    /// Records how long each commit took.
    private let timer: Timer?

    /// Has SQLite not count how much memory it takes, for which it would lock a mutex with each piece.
    ///
    /// That is for the whole process, and only before it opens a first database: for a program of our own, not for one
    /// that an agent is a part of.
    package static func countNoMemory() { _ = waypost_count_no_memory() }

    /// Opens, or creates, the state file in `directory`.
    ///
    /// - Parameters:
    ///   - fresh: Whether a state file that is damaged, or older than what was stored, is set aside and a new one
    ///     begun; an intact one stays.
    ///   - byteLimit: Bytes beyond which nothing new is taken, see ``DiskHealth``.
    ///   - logPages: How many pages the log holds before they are written back into the file.
    /// - Throws: ``StoreError`` when another agent has it, a newer version wrote it, it is not intact, something of it
    ///   is lost, or everyone can write in the directory.
    init(
        directory: String, durability: Durability = .full, fresh: Bool = false, byteLimit: Int = .max,
        logPages: Int = usualLogPages, timer: Timer? = nil
    ) throws(StoreError) {
        path = "\(directory)/\(Self.fileName)"
        disk = DiskHealth(byteLimit: byteLimit)
        self.timer = timer
        notices = [try StateFile.prepare(directory: directory)].compactMap(\.self)
        let wasUsed = try StateContinuity.wasUsed(directory)
        lock = try StateLock(path: "\(directory)/\(StateLock.fileName)")
        var file = StateFile(path: path)
        let opened: Opened
        do throws(StoreError) {
            opened = try Self.open(file, StateContinuity(directory: directory, wasUsed: wasUsed))
        } catch {
            guard fresh, error.isLoss else { throw error }
            let name = try file.setAside(at: WallClock.now())
            let text =
                "\(path): \(error.detail). What was left was renamed to \(name), and a new one was started; the "
                + "commands that ran and the revisions of maps are forgotten"
            opened = try Self.open(
                file, StateContinuity(directory: directory, wasUsed: wasUsed, replaced: text))
        }
        self.logPages = logPages
        database = Guarded(opened.database)
        pageSize = opened.pageSize
        repairs = opened.repairs
        marker = try MarkerFile(directory: directory, opened.marker)
        countsCommits = durability == .full
        file.opened()
        self.file = file
        do {
            // What is acknowledged from here on can't be lost unseen any more.
            try opened.database.keepLogWhenClosed(false)
            try opened.database.execute("PRAGMA synchronous = \(durability.pragma)")
        } catch {
            throw StoreError(error, path: path, doing: "open the state file")
        }
        _ = try commit { _ in }
    }

    // MARK: How much it holds

    /// How many commits there have been since the start.
    var commitCount: Int { commits.load(ordering: .relaxed) }

    /// About how many rows have been changed since the start; it goes round, so only differences say something.
    var changeCount: Int { measuredChanges.load(ordering: .relaxed) }

    /// Forgets the pages and statements that SQLite keeps in memory.
    func releaseMemory() { database.withLock { $0?.releaseMemory() } }

    /// Looks how much there is, if much changed since the last look, or not much more fits.
    private func measure(_ transaction: Transaction) throws {
        let changes = transaction.database.totalChanges
        let isFew = (changes - changeCount).magnitude < Self.changesBetweenLooks
        guard !isFew || disk.heldBytes >= disk.byteLimit / 2 else { return }
        measuredChanges.store(changes, ordering: .relaxed)
        let all = try transaction.database.integer("PRAGMA page_count")
        let free = try transaction.database.integer("PRAGMA freelist_count")
        disk.measured((all - free) * pageSize + file.logExcess)
    }

    // MARK: Commits

    /// Runs `body` in one transaction; everything in it is durable when this returns, or nothing is.
    ///
    /// - Parameters:
    ///   - then: called after it, before another transaction can begin; it must not begin one itself.
    ///   - otherwise: called so when it failed.
    func commit<Value>(
        _ body: (Transaction) throws -> Value, then: (Value) -> Void = { _ in }, otherwise: () -> Void = {}
    ) throws(StoreError) -> Value {
        do {
            try file.checkPlaces()
            let began = MonotonicTime.instant
            defer { record(since: began) }
            let value = try withDatabase { db in
                do {
                    let before = db.totalChanges
                    // What is written back, and what begins the log after it, has the number in the marker's row.
                    let isLogFull = db.logPages >= logPages
                    let number =
                        countsCommits ? CommitNumber(after: marker.marker, isInMarker: isLogFull) : nil
                    let value = try db.transact {
                        let transaction = Transaction(database: db, number: number)
                        let value = try body(transaction)
                        commits.add(1, ordering: .relaxed)
                        if let number, number.isInMarker, db.totalChanges != before {
                            try transaction.save(number.marker)
                        }
                        try measure(transaction)
                        return value
                    }
                    let hasChanged = db.totalChanges != before
                    if let number, hasChanged {
                        isMarkerBehind.store(!number.isInMarker, ordering: .relaxed)
                        // Before anything is acknowledged.
                        marker.stored(commits: number.marker.commits)
                    }
                    then(value)
                    if isLogFull, hasChanged, db.logPages >= logPages { db.writeLogBack() }
                    return value
                } catch {
                    otherwise()
                    throw error
                }
            }
            disk.committed()
            return value
        } catch {
            throw failed(error)
        }
    }

    /// The epoch of the next connection, above the stored one and `known`: on disk when this returns.
    ///
    /// A full disk must not keep the agent off the broker, where it can report that the disk is full. The marker is then
    /// the only place that has it: it is written in place, which takes no space.
    func raiseEpoch(above known: Int64) -> Int64 {
        do {
            return try commit {
                try $0.raiseEpoch(above: known)
            } then: {
                marker.stored(epoch: $0)
            }
        } catch {
            let next = Transaction.epoch(after: max(known, marker.marker.epoch))
            // Once it is closed the directory may be another agent's.
            database.withLock { if $0 != nil { marker.stored(epoch: next) } }
            return next
        }
    }

    /// Reads what is on disk, without a commit.
    ///
    /// - Parameter steps: About how often; each by itself would begin and end a transaction of its own.
    func read<Value>(_ steps: Int, _ body: (Transaction) throws -> Value) throws(StoreError) -> Value {
        do {
            return try withDatabase { database in
                func read() throws -> Value { try body(Transaction(database: database)) }
                return steps > 1 ? try database.transact("BEGIN", read) : try read()
            }
        } catch {
            throw failed(error)
        }
    }

    private func withDatabase<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try database.withLock { database in
            guard let database else { throw SQLiteError(code: SQLITE_MISUSE, message: "it is closed") }
            disk.transactionBegan()
            defer { disk.transactionEnded() }
            return try body(database)
        }
    }

    private func failed(_ error: any Error) -> StoreError {
        let error = error as? StoreError ?? StoreError(error, path: path, doing: "commit")
        disk.failed(error)
        return error
    }

    /// Closes the file and lets another agent have the directory; a commit after this fails.
    func close() {
        // Closing writes the log back. Any change will do, since this commit changes no row of the inbox.
        if isMarkerBehind.load(ordering: .relaxed) { _ = try? commit { try $0.save(marker.marker) } }
        database.withLock { $0 = nil }
        marker.flush()
        lock.release()
    }

    private func record(since began: ContinuousClock.Instant) {
        guard let timer else { return }
        let (seconds, attoseconds) = began.duration(to: MonotonicTime.instant).components
        timer.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// One transaction on the store; the tables' own files extend it.
    struct Transaction {
        let database: Database
        /// The commit that this is part of; nil when it is not counted.
        var number: CommitNumber?
    }
}
