import Threading
import Waypost
import WaypostMessages

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
        try liftEpoch()
        let keys = damaged.map { $0.text ?? "" }.joined(separator: ", ")
        return "values in the state file were damaged and are not used: \(keys); the epoch was raised"
    }
}

extension Store.Transaction {
    private static var epochKey: String { "epoch" }
    /// The highest number that every reader of JSON takes as it is.
    private static var highestEpoch: Int64 { 1 << 53 - 1 }

    /// The highest epoch that was taken; 0 before the first.
    func epoch() throws -> Int64 { try number(Self.epochKey) ?? 0 }

    /// The highest epoch that may have gone out: on a full disk that takes no change in place either, as one that copies
    /// on writing, it rises in memory only.
    func highestUsedEpoch() throws -> Int64 {
        let stored = try epoch()
        return stored == 0 ? 0 : min(stored + Self.epochReserve, Self.highestEpoch - 1)
    }

    /// Connections that an agent may make on such a disk.
    private static var epochReserve: Int64 { 100_000 }

    /// Stores the epoch of the next connection, above the stored one and `known`.
    func raiseEpoch(above known: Int64) throws -> Int64 {
        let next = Self.epoch(after: max(known, try epoch()))
        try setNumber(Self.epochKey, next)
        return next
    }

    static func epoch(after known: Int64) -> Int64 { min(known, highestEpoch - 1) + 1 }

    /// Lets the epoch go on above `known`, so far as the stored one is not.
    func keepEpoch(above known: Int64) throws {
        guard try epoch() < known else { return }
        try setNumber(Self.epochKey, known)
    }

    /// Lets the epoch go on from the clock, in milliseconds since 1970: above any number of connections.
    ///
    /// For a state file that can't know the earlier ones: it is new, or something is lost of it.
    func liftEpoch() throws { try keepEpoch(above: WallClock.now()) }
}

extension Store.Transaction {
    private static var cleanStopKey: String { "clean_stop" }

    /// Whether no command was running at the last stop; nil before the first one.
    func wasStoppedCleanly() throws -> Bool? { try number(Self.cleanStopKey).map { $0 == 1 } }

    func setStoppedCleanly(_ isClean: Bool) throws { try setNumber(Self.cleanStopKey, isClean ? 1 : 0) }
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
