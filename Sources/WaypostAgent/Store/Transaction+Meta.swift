import GRDB

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
