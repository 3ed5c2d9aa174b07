import GRDB
import Glibc

/// Everything that must survive: commands, replies, failure reports, maps, the epoch; one SQLite file, one writer.
package final class Store: Sendable {
    /// The database's name in the state directory.
    package static let fileName = "waypost.sqlite"

    package let path: String
    private let queue: DatabaseQueue
    private let lock: StateLock

    /// Opens, or creates, the state file in `directory`.
    ///
    /// - Throws: ``StoreError`` when another agent has it, a newer version wrote it, or it is not sound.
    package init(directory: String, durability: Durability = .full) throws(StoreError) {
        let path = "\(directory)/\(Self.fileName)"
        self.path = path
        if mkdir(directory, 0o700) != 0 && errno != EEXIST {
            throw StoreError(
                .system(code: errno), path: directory,
                detail: "create the state directory: \(String(cString: strerror(errno)))")
        }
        lock = try StateLock(path: "\(directory)/lock")
        var configuration = Configuration()
        configuration.label = "waypost.store"
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL;
                    PRAGMA synchronous = \(durability.pragma);
                    PRAGMA wal_autocheckpoint = 1000;
                    PRAGMA journal_size_limit = 16777216;
                    PRAGMA cache_size = -2000;
                    """)
        }
        do {
            queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.write { try Schema.migrate($0, path: path) }
            chmod(path, 0o600)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(error, path: path, doing: "open the state file")
        }
    }

    /// Runs `body` in one transaction; everything in it is durable when this returns, or nothing is.
    package func commit<Value>(_ body: (Transaction) throws -> Value) throws(StoreError) -> Value {
        do {
            return try queue.write { try body(Transaction(database: $0)) }
        } catch {
            throw StoreError(error, path: path, doing: "commit")
        }
    }

    /// As ``commit(_:)``, without holding a thread of the caller's while the disk writes.
    package func commitInBackground<Value: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await queue.write { try body(Transaction(database: $0)) }
        } catch {
            throw StoreError(error, path: path, doing: "commit")
        }
    }

    /// One transaction on the store; the tables' own files extend it.
    package struct Transaction {
        let database: Database
    }
}
