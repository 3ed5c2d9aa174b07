import Waypost
import WaypostMessages

extension Store.Transaction {
    private static var levelKey: String { "log_override" }

    /// The level asked for by the last `log` command; it may have ended already.
    func levelOverride() throws -> EventLog.LevelOverride? {
        guard let text = try text(Self.levelKey), let json = try? JSONValue(parsing: text),
            let letter = json["level"]?.stringValue, let level = LogLevel(letter: letter),
            let until = json["until"]?.intValue
        else { return nil }
        return EventLog.LevelOverride(level: level, tag: json["tag"]?.stringValue, until: until)
    }

    func setOverride(_ override: EventLog.LevelOverride) throws {
        let json: JSONValue = [
            "level": .string(override.level.letter),
            "tag": override.tag.map(JSONValue.string) ?? .null,
            "until": .int(override.until),
        ]
        try setText(Self.levelKey, json.text)
    }
}
