import GRDB
import Waypost

extension Store.Transaction {
    func number(_ key: String) throws -> Int64? {
        try Int64.fetchOne(database, sql: "SELECT value FROM meta WHERE key = ?", arguments: [key])
    }

    func setNumber(_ key: String, _ value: Int64) throws {
        try database.execute(
            sql:
                "INSERT INTO meta(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            arguments: [key, value])
    }

    func text(_ key: String) throws -> String? {
        try String.fetchOne(database, sql: "SELECT value FROM meta WHERE key = ?", arguments: [key])
    }

    func setText(_ key: String, _ value: String?) throws {
        guard let value else {
            return try database.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [key])
        }
        try database.execute(
            sql:
                "INSERT INTO meta(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            arguments: [key, value])
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
