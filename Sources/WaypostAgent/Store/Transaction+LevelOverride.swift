import GRDB
import Waypost

extension Store.Transaction {
    private static var levelKey: String { "log_override" }

    /// The level asked for by the last `log` command; it may have ended already.
    func levelOverride() throws -> LevelOverride? {
        guard let text = try text(Self.levelKey), let json = try? JSONValue(parsing: text) else { return nil }
        return LevelOverride(json)
    }

    func setOverride(_ override: LevelOverride) throws { try setText(Self.levelKey, override.json.text) }
}
