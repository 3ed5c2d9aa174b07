import GRDB
import Glibc
import Waypost

extension Store.Transaction {
    func number(_ key: String) throws -> Int64? { try value(of: key).flatMap(Int64.fromDatabaseValue) }

    func setNumber(_ key: String, _ value: Int64) throws { try set(key, value.databaseValue) }

    func text(_ key: String) throws -> String? { try value(of: key).flatMap(String.fromDatabaseValue) }

    func setText(_ key: String, _ value: String?) throws {
        guard let value else {
            return try database.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [key])
        }
        try set(key, value.databaseValue)
    }

    /// Nil when there is none, or when the disk has changed it.
    private func value(of key: String) throws -> DatabaseValue? {
        try Row.fetchOne(database, sql: "SELECT * FROM meta WHERE key = ?", arguments: [key])
            .flatMap { Self.isIntact($0) ? $0["value"] as DatabaseValue : nil }
    }

    private func set(_ key: String, _ value: DatabaseValue) throws {
        try database.execute(
            sql: "INSERT OR REPLACE INTO meta(key, value, row_digest) VALUES(?, ?, ?)",
            arguments: [key, value, RowDigest.of([.text(key), .init(value)])])
    }

    private static func isIntact(_ row: Row) -> Bool {
        let columns = ["key", "value"].map { RowDigest.Column(row[$0] as DatabaseValue) }
        return RowDigest.of(columns) == row.integer("row_digest")
    }

    /// Removes the values that the disk has changed; returns what they were, as a text.
    ///
    /// Without its value the epoch would begin again, below what readers have seen; it goes on from the clock, which
    /// is above any number of connections.
    func removeDamagedValues() throws -> String? {
        let damaged = try Row.fetchAll(database, sql: "SELECT * FROM meta").filter { !Self.isIntact($0) }
        guard !damaged.isEmpty else { return nil }
        for row in damaged {
            try database.execute(
                sql: "DELETE FROM meta WHERE key = ?", arguments: [row["key"] as DatabaseValue])
        }
        try setNumber("epoch", max(try number("epoch") ?? 0, Int64(time(nil)) * 1_000))
        let keys = damaged.map { $0.text("key") }.joined(separator: ", ")
        return "values in the state file were damaged and are not used: \(keys); the epoch was raised"
    }
}

extension Store.Transaction {
    private static var levelKey: String { "log_override" }

    /// The level asked for by the last `log` command; it may have ended already.
    func levelOverride() throws -> LevelOverride? {
        guard let text = try text(Self.levelKey), let json = try? JSONValue(parsing: text) else { return nil }
        return LevelOverride(json)
    }

    func setOverride(_ override: LevelOverride) throws { try setText(Self.levelKey, override.json.text) }
}
