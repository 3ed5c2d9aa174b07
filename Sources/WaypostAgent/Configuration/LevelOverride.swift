import Waypost
import WaypostMessages

/// A level of events asked for by the `log` command, until it ends by itself.
struct LevelOverride: Sendable, Equatable {
    var level: LogLevel
    /// Only events of this tag; all when nil.
    var tag: String?
    /// The agent's wall clock, in milliseconds since 1970.
    var until: Int64
}

extension LevelOverride {
    /// The override as it is stored; it may have ended already.
    init?(_ json: JSONValue) {
        guard let letter = json["level"]?.stringValue, let level = LogLevel(letter: letter),
            let until = json["until"]?.intValue
        else { return nil }
        self.init(level: level, tag: json["tag"]?.stringValue, until: until)
    }

    var json: JSONValue {
        [
            "level": .string(level.letter), "tag": tag.map(JSONValue.string) ?? .null, "until": .int(until),
        ]
    }
}
