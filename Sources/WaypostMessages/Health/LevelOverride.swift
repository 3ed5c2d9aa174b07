package import Waypost

/// A level of events asked for by the `log` command, until it ends by itself.
package struct LevelOverride: Sendable, Equatable {
    package var level: LogLevel
    /// Only events of this tag; all when nil.
    package var tag: String?
    /// The agent's wall clock, in milliseconds since 1970.
    package var until: Int64
    /// Who asked for it; nil when a version that did not keep it stored it.
    package var sender: String?

    package init(level: LogLevel, tag: String?, until: Int64, sender: String?) {
        self.level = level
        self.tag = tag?.cut(to: Self.maximumTagBytes)
        self.until = until
        self.sender = sender
    }

    /// The longest tag of an event, in bytes: a logger's label may have any length.
    package static let maximumTagBytes = 64

    /// The lowest level that is published, where `configured` is asked for otherwise.
    ///
    /// No sender silences warnings, errors or fatal events that the configuration asks for.
    package func lowest(over configured: LogLevel) -> LogLevel { min(level, max(configured, .warning)) }
}

extension LevelOverride {
    /// The override as it is stored; it may have ended already.
    package init?(_ json: JSONValue) {
        guard let letter = json["level"]?.stringValue, let level = LogLevel(letter: letter),
            let until = json["until"]?.intValue, (0...Fields.latestTime).contains(until)
        else { return nil }
        self.init(
            level: level, tag: json["tag"]?.stringValue, until: until, sender: json["from"]?.stringValue)
    }

    /// `{"level","tag","until","from"}`: as it is stored, and as health shows it.
    package var json: JSONValue {
        [
            "level": .string(level.topicLevel), "tag": tag.map(JSONValue.string) ?? .null,
            "until": .int(until), "from": sender.map(JSONValue.string) ?? .null,
        ]
    }
}
