import FoundationEssentials
import GRDB
import Glibc
package import Metrics
import Waypost

/// Everything that must survive: commands, replies, failure reports, maps, the epoch; one SQLite file, one writer.
package final class Store: Sendable {
    /// The database's name in the state directory.
    package static let fileName = "waypost.sqlite"

    package let path: String
    /// Where a damaged database was set aside at the start; nil when none was.
    package let setAside: String?
    private let queue: DatabaseQueue
    private let lock: StateLock
    private let file: StateFile
    /// Records how long each commit took.
    private let timer: Timer?
    private let currentProblem = Guarded<StoreError?>(nil)
    private let onFailure = Guarded<@Sendable (StoreError) -> Void>({ _ in })

    /// Opens, or creates, the state file in `directory`.
    ///
    /// - Parameter fresh: Whether a damaged database is set aside and a new one begun; an intact one stays.
    /// - Throws: ``StoreError`` when another agent has it, a newer version wrote it, or it is not intact.
    package init(
        directory: String, durability: Durability = .full, fresh: Bool = false, timer: Timer? = nil
    ) throws(StoreError) {
        let path = "\(directory)/\(Self.fileName)"
        self.path = path
        if mkdir(directory, 0o700) != 0 && errno != EEXIST {
            throw StoreError(
                .system(code: errno), path: directory,
                detail: "create the state directory: \(String(cString: strerror(errno)))")
        }
        lock = try StateLock(path: "\(directory)/lock")
        var file = StateFile(path: path)
        var setAside: String?
        do throws(StoreError) {
            queue = try Self.open(path, durability)
        } catch {
            guard fresh, error.reason == .corrupt else { throw error }
            setAside = try file.setAside(at: time(nil))
            queue = try Self.open(path, durability)
        }
        self.setAside = setAside
        self.timer = timer
        chmod(path, 0o600)
        file.opened()
        self.file = file
    }

    private static func open(_ path: String, _ durability: Durability) throws(StoreError) -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "waypost.store"
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            // Before the first table, so that pages can be returned to the file system.
            try db.execute(
                sql: """
                    PRAGMA auto_vacuum = INCREMENTAL;
                    PRAGMA journal_mode = WAL;
                    PRAGMA synchronous = \(durability.pragma);
                    PRAGMA wal_autocheckpoint = 1000;
                    PRAGMA journal_size_limit = 16777216;
                    PRAGMA cache_size = -2000;
                    """)
        }
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.write { db in
                let found = try String.fetchOne(db, sql: "PRAGMA quick_check(1)") ?? "ok"
                guard found == "ok" else {
                    throw StoreError(.corrupt, path: path, detail: "check the state file: \(found)")
                }
                try Schema.migrate(db, path: path)
            }
            return queue
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(error, path: path, doing: "open the state file")
        }
    }

    /// Why the last commit failed; nil when it did not.
    var problem: StoreError? { currentProblem.withLock { $0 } }

    /// Calls `body` after each commit that fails, on the thread of the commit.
    func onFailure(_ body: @escaping @Sendable (StoreError) -> Void) { onFailure.withLock { $0 = body } }

    /// Runs `body` in one transaction; everything in it is durable when this returns, or nothing is.
    package func commit<Value>(_ body: (Transaction) throws -> Value) throws(StoreError) -> Value {
        do {
            try file.checkPlace()
            let began = ContinuousClock.now
            defer { record(since: began) }
            let value = try queue.write { try body(Transaction(database: $0)) }
            succeeded()
            return value
        } catch {
            throw failed(error)
        }
    }

    /// As ``commit(_:)``, without holding a thread of the caller's while the disk writes.
    package func commitInBackground<Value: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            try file.checkPlace()
            let began = ContinuousClock.now
            defer { record(since: began) }
            let value = try await queue.write { try body(Transaction(database: $0)) }
            succeeded()
            return value
        } catch {
            throw failed(error)
        }
    }

    private func succeeded() {
        currentProblem.withLock { if $0 != nil { $0 = nil } }
    }

    private func failed(_ error: any Error) -> StoreError {
        let error = error as? StoreError ?? StoreError(error, path: path, doing: "commit")
        currentProblem.withLock { $0 = error }
        onFailure.withLock { $0 }(error)
        return error
    }

    /// Closes the file and lets another agent have the directory; a commit after this fails.
    func close() {
        try? queue.close()
        lock.release()
    }

    private func record(since began: ContinuousClock.Instant) {
        guard let timer else { return }
        let (seconds, attoseconds) = began.duration(to: .now).components
        timer.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// One transaction on the store; the tables' own files extend it.
    package struct Transaction {
        let database: Database
    }
}

/// Bytes as SQLite takes and gives them.
struct Blob: DatabaseValueConvertible, StatementBinding {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var databaseValue: DatabaseValue { Data(bytes).databaseValue }

    static func fromDatabaseValue(_ value: DatabaseValue) -> Blob? {
        Data.fromDatabaseValue(value).map { Blob([UInt8]($0)) }
    }

    func bind(to sqliteStatement: SQLiteStatement, at index: CInt) -> CInt {
        Data(bytes).bind(to: sqliteStatement, at: index)
    }
}

extension Row {
    /// The column's bytes; nil for NULL.
    func bytes(_ column: String) -> [UInt8]? {
        (self[column] as Data?).map { [UInt8]($0) }
    }
}
