import CSQLite

/// A connection to an SQLite file.
///
/// Safe to send because it has no lock of its own, not even SQLite's: ``Store`` keeps it behind one.
final class Database: @unchecked Sendable {
    private let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    /// How many pages the log had after the last commit that wrote some; 0 before it, and unless it is watched.
    private(set) var logPages = 0

    /// Opens a file, or creates it.
    ///
    /// - Parameters:
    ///   - isReadOnly: Whether the file must be there, and nothing of it changes: neither what it holds, nor its log.
    ///   - patience: How long it waits, in milliseconds, for another process that has locked the file.
    init(path: String, isReadOnly: Bool = false, patience: Int32 = 5_000) throws(SQLiteError) {
        var opened: OpaquePointer?
        // Also to read only: without the right to write, SQLite can't read a log without an index in shared memory,
        // and would leave one behind.
        let access = SQLITE_OPEN_READWRITE | (isReadOnly ? 0 : SQLITE_OPEN_CREATE)
        let code = sqlite3_open_v2(path, &opened, access | SQLITE_OPEN_NOMUTEX, nil)
        guard let opened, code == SQLITE_OK else {
            defer { sqlite3_close_v2(opened) }
            throw SQLiteError(code, opened)
        }
        handle = opened
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, patience)
        guard isReadOnly else { return }
        try keepLogWhenClosed(true)
        try execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON")
    }

    deinit {
        // Statements first: the connection stays until the last of them has gone.
        statements = [:]
        sqlite3_close_v2(handle)
    }

    /// The row that the last INSERT made.
    var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }
    /// How many rows the last statement changed.
    var changes: Int { Int(sqlite3_changes(handle)) }
    /// How many rows have been changed since it was opened, as SQLite counts them: in 32 bits, round and round.
    var totalChanges: Int { Int(sqlite3_total_changes(handle)) }

    /// Runs SQL of one or more statements, whose rows are not of interest.
    func execute(_ script: String) throws(SQLiteError) {
        try check(sqlite3_exec(handle, script, nil, nil, nil))
    }

    /// A statement; it is parsed when it comes for the first time.
    func statement(_ sql: String) throws(SQLiteError) -> Statement {
        if let known = statements[sql] { return known }
        var made: OpaquePointer?
        try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil))
        guard let made else {
            throw SQLiteError(code: SQLITE_MISUSE, message: "there is no statement: \(sql)")
        }
        let statement = Statement(made)
        statements[sql] = statement
        return statement
    }

    /// Runs a statement that gives no rows.
    func run(_ sql: String, _ values: [SQLValue] = []) throws { try statement(sql).run(values) }

    /// The number in the first column of the first row; 0 without a row.
    func integer(_ sql: String, _ values: [SQLValue] = []) throws -> Int {
        try statement(sql).integer(values)
    }

    /// Calls `body` with each row, until it returns false.
    func eachRow(_ sql: String, _ values: [SQLValue] = [], _ body: (Row) throws -> Bool) throws {
        try statement(sql).eachRow(values, body)
    }

    /// What `body` makes of each row.
    func rows<Value>(
        _ sql: String, _ values: [SQLValue] = [], _ body: (Row) throws -> Value
    ) throws -> [Value] {
        var all: [Value] = []
        try eachRow(sql, values) {
            all.append(try body($0))
            return true
        }
        return all
    }

    /// What `body` makes of the first row; nil when there is none.
    func row<Value>(
        _ sql: String, _ values: [SQLValue] = [], _ body: (Row) throws -> Value
    ) throws -> Value? {
        var first: Value?
        try eachRow(sql, values) {
            first = try body($0)
            return false
        }
        return first
    }

    /// Runs `body` in one transaction, which is taken back when it throws.
    func transact<Value>(_ begin: String = "BEGIN IMMEDIATE", _ body: () throws -> Value) throws -> Value {
        try statement(begin).run()
        do {
            let value = try body()
            try statement("COMMIT").run()
            return value
        } catch {
            // SQLite may have done it already.
            try? execute("ROLLBACK")
            throw error
        }
    }

    /// What SQLite's own check finds wrong, at most so many things.
    func problems(_ limit: Int) throws -> [String] {
        // Of the file alone: the check of all opens a second database, for temporary tables, which then takes part in
        // each transaction.
        try rows("PRAGMA main.integrity_check(\(limit))") { $0.text("integrity_check") }.filter { $0 != "ok" }
    }

    /// Whether closing leaves the log as it is, and does not write it back into the file and remove it.
    func keepLogWhenClosed(_ isKept: Bool) throws(SQLiteError) {
        try check(waypost_keep_log_when_closed(handle, isKept ? 1 : 0))
    }

    /// Counts the pages of the log from now on, in ``logPages``, and no longer writes them back by itself.
    func watchLog() {
        sqlite3_wal_hook(
            handle,
            { database, _, _, pages in
                guard let database else { return SQLITE_OK }
                Unmanaged<Database>.fromOpaque(database).takeUnretainedValue().logPages = Int(pages)
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Writes the pages of the log into the file; the next commit begins the log again.
    ///
    /// When that fails, on a full disk, they stay in the log, and nothing is lost.
    func writeLogBack() {
        _ = sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }

    /// Forgets the pages and statements that are kept in memory.
    func releaseMemory() {
        statements = [:]
        sqlite3_db_release_memory(handle)
    }

    private func check(_ code: CInt) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw SQLiteError(code, handle) }
    }

    // MARK: Functions

    /// Gives SQL a function, which has one result for equal values.
    func add(function name: String, _ body: @escaping ([SQLValue]) -> SQLValue) throws(SQLiteError) {
        let function = Unmanaged.passRetained(Function(body))
        try check(
            sqlite3_create_function_v2(
                handle, name, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, function.toOpaque(),
                { context, count, values in
                    guard let kept = sqlite3_user_data(context), let values else { return }
                    let function = Unmanaged<Function>.fromOpaque(kept).takeUnretainedValue()
                    function.body((0..<Int(count)).map { SQLValue(values[$0]) }).becomeResult(of: context)
                }, nil, nil, { $0.map { Unmanaged<Function>.fromOpaque($0).release() } }))
    }

    /// Takes a function away again.
    func remove(function name: String) {
        sqlite3_create_function_v2(handle, name, -1, SQLITE_UTF8, nil, nil, nil, nil, nil)
    }

    private final class Function {
        let body: ([SQLValue]) -> SQLValue

        init(_ body: @escaping ([SQLValue]) -> SQLValue) { self.body = body }
    }
}

/// What SQLite refused, and why.
struct SQLiteError: Error, CustomStringConvertible {
    /// SQLite's extended result code.
    let code: Int32
    let message: String

    init(code: Int32, message: String) { (self.code, self.message) = (code, message) }

    /// The last error of a connection.
    init(_ code: Int32, _ connection: OpaquePointer?) {
        let text = connection.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        self.init(
            code: connection.map { sqlite3_extended_errcode($0) } ?? code,
            message: text.map { String(cString: $0) } ?? "unknown")
    }

    /// The code without what extends it.
    var primaryCode: Int32 { code & 0xff }

    var description: String { "SQLite error \(code): \(message)" }
}
