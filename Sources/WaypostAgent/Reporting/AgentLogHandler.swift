public import Logging
import Waypost
import WaypostMessages

/// Turns log lines into events of an agent; see ``Agent/logHandler(label:)``.
///
/// `trace` is V, `debug` D, `info` and `notice` I, `warning` W, `error` E, `critical` F. Metadata stands behind the
/// message as `key=value`, sorted by key; values of redacted keys are masked.
public struct AgentLogHandler: LogHandler {
    /// What every line of this logger carries.
    public var metadata: Logger.Metadata = [:]
    /// Gives further metadata, asked for with each line.
    public var metadataProvider: Logger.MetadataProvider?
    /// The lowest level that is passed on; `trace` unless set, because the agent's own level decides.
    public var logLevel: Logger.Level = .trace

    private let tag: String
    private let events: EventLog

    init(label: String, events: EventLog) {
        tag = label.cut(to: LevelOverride.maximumTagBytes)
        self.events = events
    }

    /// One value of ``metadata``.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Publishes a line; its text is made only when its level is published.
    public func log(event: Logging.LogEvent) {
        let level = LogLevel(event.level)
        events.log(level, tag, text(event), isError: level >= .error)
    }

    private func text(_ event: Logging.LogEvent) -> String {
        var all = metadata
        if let metadataProvider { all.merge(metadataProvider.get()) { _, new in new } }
        if let own = event.metadata { all.merge(own) { _, new in new } }
        return ([event.message.description] + pairs(all)).joined(separator: " ")
    }

    private func pairs(_ metadata: Logger.Metadata) -> [String] {
        metadata.sorted { $0.key < $1.key }.map { key, value in
            // In an event a masked value ends at a space; a value here may contain spaces.
            "\(key)=\(events.redaction.hides(key) ? "***" : text(value))"
        }
    }

    private func text(_ value: Logger.MetadataValue) -> String {
        switch value {
        case .string(let text): text
        case .stringConvertible(let value): value.description
        case .array(let values): "[" + values.map(text).joined(separator: " ") + "]"
        case .dictionary(let members): "{ " + pairs(members).joined(separator: " ") + " }"
        }
    }
}

extension LogLevel {
    /// The level of logcat for one of swift-log.
    init(_ level: Logger.Level) {
        self =
            switch level {
            case .trace: .verbose
            case .debug: .debug
            case .info, .notice: .info
            case .warning: .warning
            case .error: .error
            case .critical: .fatal
            }
    }
}
