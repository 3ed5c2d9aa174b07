import Logging
import Threading
import Waypost
import WaypostMessages

/// Log lines for people and for journald: one line each on standard error, beginning with the program's name.
///
///     waypost: agent k1 online at mqtt://127.0.0.1:1883
///     waypost: warning: connecting to mqtt://127.0.0.1:1883: Connection refused
///
/// As JSON, for collectors: `{"t":1795216999123,"level":"notice","msg":"agent k1 online at …"}`.
struct PlainLogHandler: LogHandler {
    let threshold: LogThreshold
    let isJSON: Bool
    /// Whose lines they are: they come from threads of all kinds.
    private let invocation = Invocation.current
    /// Of one logger that must be quieter or louder than the rest.
    private var ownLevel: Logger.Level?
    var metadata: Logger.Metadata = [:]

    init(_ threshold: LogThreshold, isJSON: Bool = false) {
        self.threshold = threshold
        self.isJSON = isJSON
    }

    var logLevel: Logger.Level {
        get { ownLevel ?? threshold.level }
        set { ownLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: Logging.LogEvent) {
        let all = event.metadata.map { metadata.merging($0) { _, new in new } } ?? metadata
        Terminal.note(Self.note(event.level, "\(event.message)", all, isJSON: isJSON), of: invocation)
    }

    /// The line for lines that are missing, see ``Terminal/queueNotes(loss:)``.
    static func loss(of count: Int, isJSON: Bool) -> Note {
        note(
            .warning, "\(count.counted("line was", "lines were")) dropped here: standard error was not read",
            isJSON: isJSON)
    }

    private static func note(
        _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata = [:], isJSON: Bool
    ) -> Note {
        guard !isJSON else {
            var line: [String: JSONValue] = metadata.mapValues { .string("\($0)") }
            line["t"] = .int(WallClock.now())
            line["level"] = .string(level.rawValue)
            line["msg"] = .string(message)
            return .json(.object(line))
        }
        let pairs = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return .text("waypost: \(prefix(level))\(message)\(pairs)")
    }

    private static func prefix(_ level: Logger.Level) -> String {
        switch level {
        case .trace, .debug: "debug: "
        case .info, .notice: ""
        case .warning: "warning: "
        case .error, .critical: "error: "
        }
    }
}
