import CSQLite

/// A statement that was parsed, and is run again and again.
///
/// SQLite keeps a copy of the values that it last ran with until others come, or it is forgotten.
final class Statement {
    private let handle: OpaquePointer
    fileprivate lazy var columns = Dictionary(
        (0..<sqlite3_column_count(handle)).map { (String(cString: sqlite3_column_name(handle, $0)), $0) },
        uniquingKeysWith: { first, _ in first })

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { sqlite3_finalize(handle) }

    /// Runs a statement that gives no rows.
    func run(_ values: [SQLValue] = []) throws { _ = try with(values) { try step() } }

    /// The number in the first column of the first row; 0 without a row.
    func integer(_ values: [SQLValue] = []) throws -> Int {
        try with(values) { try step() ? Int(sqlite3_column_int64(handle, 0)) : 0 }
    }

    /// Calls `body` with each row, until it returns false.
    func eachRow(_ values: [SQLValue] = [], _ body: (Row) throws -> Bool) throws {
        try with(values) {
            while try step(), try body(Row(statement: self)) {}
        }
    }

    /// Whether there is a row now.
    private func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw SQLiteError(code, sqlite3_db_handle(handle))
        }
    }

    private func with<Result>(_ values: [SQLValue], _ body: () throws -> Result) throws -> Result {
        precondition(sqlite3_stmt_busy(handle) == 0, "a statement is run within its own rows")
        defer { sqlite3_reset(handle) }
        for (index, value) in values.enumerated() { try bind(value, to: CInt(index + 1)) }
        return try body()
    }

    private func bind(_ value: SQLValue, to place: CInt) throws(SQLiteError) {
        let code =
            switch value {
            case .null: sqlite3_bind_null(handle, place)
            case .integer(let number): sqlite3_bind_int64(handle, place, number)
            case .text(var text):
                // Handed on as it is, a short text would be copied into an array first.
                text.withUTF8 { waypost_bind_text(handle, place, $0.baseAddress, UInt64($0.count)) }
            case .blob(let bytes): waypost_bind_blob(handle, place, bytes, UInt64(bytes.count))
            }
        guard code == SQLITE_OK else { throw SQLiteError(code, sqlite3_db_handle(handle)) }
    }

    fileprivate func value(_ column: CInt) -> SQLValue { SQLValue(sqlite3_column_value(handle, column)) }
}

/// The row that a statement is at; it is read before the statement goes on.
struct Row {
    fileprivate let statement: Statement

    /// The column's value, whatever it is: a changed byte can make it one of another type.
    subscript(_ column: String) -> SQLValue {
        guard let number = statement.columns[column] else { preconditionFailure("no column \(column)") }
        return statement.value(number)
    }

    /// The column's bytes; nil for what has none.
    func bytes(_ column: String) -> [UInt8]? {
        switch self[column] {
        case .blob(let bytes): bytes
        case .text(let text): Array(text.utf8)
        case .null, .integer: nil
        }
    }

    /// The column's text; nil for what is none.
    func optionalText(_ column: String) -> String? { self[column].text }

    /// The column's text; empty for what is none.
    func text(_ column: String) -> String { optionalText(column) ?? "" }

    /// The column's number; nil for what is none.
    func optionalInteger(_ column: String) -> Int64? { self[column].integer }

    /// The column's number; 0 for what is none.
    func integer(_ column: String) -> Int64 { optionalInteger(column) ?? 0 }
}

/// A value as SQLite takes and gives it; of its kinds only fractions are missing, which are read as NULL.
enum SQLValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    init(_ number: Int64?) { self = number.map(SQLValue.integer) ?? .null }
    init(_ text: String?) { self = text.map(SQLValue.text) ?? .null }
    init(_ bytes: [UInt8]?) { self = bytes.map(SQLValue.blob) ?? .null }

    /// One of SQLite's own.
    init(_ value: OpaquePointer?) {
        func bytes(_ start: UnsafeRawPointer?) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_value_bytes(value)))
        }
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(value))
        case SQLITE_TEXT:
            self = .text(String(decoding: bytes(UnsafeRawPointer(sqlite3_value_text(value))), as: UTF8.self))
        case SQLITE_BLOB: self = .blob(Array(bytes(sqlite3_value_blob(value))))
        default: self = .null
        }
    }

    /// The number; nil when it is none.
    var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

    /// The text, also one that is stored as bytes; nil when it is none.
    var text: String? {
        switch self {
        case .text(let text): text
        case .blob(let bytes): String(validating: bytes, as: UTF8.self)
        case .null, .integer: nil
        }
    }

    /// Makes it what a function of SQL gives.
    func becomeResult(of context: OpaquePointer?) {
        switch self {
        case .null: sqlite3_result_null(context)
        case .integer(let number): sqlite3_result_int64(context, number)
        case .text(let text): waypost_result_text(context, text, UInt64(text.utf8.count))
        case .blob(let bytes): waypost_result_blob(context, bytes, UInt64(bytes.count))
        }
    }
}
