import Glibc
import Waypost

extension Store.Transaction {
    func number(_ key: String) throws -> Int64? { try value(of: key)?.integer }

    func setNumber(_ key: String, _ value: Int64) throws { try set(key, .integer(value)) }

    func text(_ key: String) throws -> String? { try value(of: key)?.text }

    func setText(_ key: String, _ value: String?) throws {
        guard let value else { return try database.run("DELETE FROM meta WHERE key = ?", [.text(key)]) }
        try set(key, .text(value))
    }

    /// Nil when there is none, or when the disk has changed it.
    private func value(of key: String) throws -> SQLValue? {
        try database.row("SELECT * FROM meta WHERE key = ?", [.text(key)]) {
            Self.isIntact($0) ? $0["value"] : nil
        } ?? nil
    }

    private func set(_ key: String, _ value: SQLValue) throws {
        try database.run(
            "INSERT OR REPLACE INTO meta(key, value, row_digest) VALUES(?, ?, ?)",
            [.text(key), value, .integer(RowDigest.of([.text(key), value]))])
    }

    private static func isIntact(_ row: Row) -> Bool {
        RowDigest.of([row["key"], row["value"]]) == row.integer("row_digest")
    }

    /// Removes the values that the disk has changed; returns what they were, as a text.
    ///
    /// Without its value the epoch would begin again, below what readers have seen; it goes on from the clock, which
    /// is above any number of connections.
    func removeDamagedValues() throws -> String? {
        let damaged = try database.rows("SELECT * FROM meta") { Self.isIntact($0) ? nil : $0["key"] }
            .compactMap(\.self)
        guard !damaged.isEmpty else { return nil }
        for key in damaged { try database.run("DELETE FROM meta WHERE key = ?", [key]) }
        try setNumber("epoch", max(try number("epoch") ?? 0, Int64(time(nil)) * 1_000))
        let keys = damaged.map { $0.text ?? "" }.joined(separator: ", ")
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
