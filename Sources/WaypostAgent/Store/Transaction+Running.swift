import GRDB
import GRDBSQLite

extension Store.Transaction {
    /// A statement, to be run in this transaction only; it is parsed when it comes for the first time.
    func statement(_ sql: String) throws -> PreparedStatement {
        PreparedStatement(cached: try database.cachedStatement(sql: sql))
    }

    /// Runs a statement that gives no rows.
    func run(_ sql: String, _ values: [RowDigest.Column] = []) throws { try statement(sql).run(values) }

    /// The number that a statement gives.
    func integer(_ sql: String, _ values: [RowDigest.Column] = []) throws -> Int {
        try statement(sql).integer(values)
    }
}

/// A statement for what each command does.
///
/// GRDB copies the values into arguments of its own, and SQLite those once more; here they lie where they are until the
/// statement has run.
struct PreparedStatement {
    fileprivate let cached: Statement
    private var statement: SQLiteStatement { cached.sqliteStatement }

    /// Runs a statement that gives no rows.
    func run(_ values: [RowDigest.Column]) throws {
        defer { sqlite3_clear_bindings(statement) }
        try step { Self.bind(values[...], from: 1, to: statement) }
    }

    /// The number that the statement gives.
    func integer(_ values: [RowDigest.Column]) throws -> Int {
        defer { if !values.isEmpty { sqlite3_clear_bindings(statement) } }
        var number = 0
        try step {
            let code = Self.bind(values[...], from: 1, to: statement)
            number = Int(sqlite3_column_int64(statement, 0))
            return code
        }
        return number
    }

    private func step(_ step: () -> CInt) throws {
        defer { sqlite3_reset(statement) }
        let code = step()
        guard code == SQLITE_DONE || code == SQLITE_ROW else {
            let connection = sqlite3_db_handle(statement)
            throw DatabaseError(
                resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
                message: String(cString: sqlite3_errmsg(connection)), sql: cached.sql)
        }
    }

    /// Binds the values and runs the statement inside, where all of them are still in place.
    private static func bind(
        _ values: ArraySlice<RowDigest.Column>, from place: CInt, to statement: SQLiteStatement
    ) -> CInt {
        guard let value = values.first else { return sqlite3_step(statement) }
        func next(_ code: CInt) -> CInt {
            code == SQLITE_OK ? bind(values.dropFirst(), from: place + 1, to: statement) : code
        }
        switch value {
        case .null: return next(sqlite3_bind_null(statement, place))
        case .integer(let number): return next(sqlite3_bind_int64(statement, place, number))
        case .text(var text):
            // Without an address it would be bound as NULL.
            guard !text.isEmpty else { return next(sqlite3_bind_text(statement, place, "", 0, nil)) }
            return text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    next(sqlite3_bind_text(statement, place, $0.baseAddress, CInt($0.count), nil))
                }
            }
        case .blob(let bytes):
            return bytes.withUnsafeBytes { bytes in
                bytes.isEmpty
                    ? next(sqlite3_bind_zeroblob(statement, place, 0))
                    : next(sqlite3_bind_blob(statement, place, bytes.baseAddress, CInt(bytes.count), nil))
            }
        }
    }
}
