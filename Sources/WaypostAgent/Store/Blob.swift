import FoundationEssentials
import GRDB

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
