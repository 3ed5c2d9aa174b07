import Logging
import Waypost

/// Log lines for people and for journald: one line each on standard error, beginning with the program's name.
///
///     waypost: agent k1 online at mqtt://127.0.0.1:1883
///     waypost: warning: connecting to mqtt://127.0.0.1:1883: Connection refused
///
/// As JSON, for collectors: `{"t":1795216999123,"level":"notice","msg":"agent k1 online at …"}`.
struct PlainLogHandler: LogHandler {
    let threshold: LogThreshold
    let isJSON: Bool
    /// Of one logger that is to be quieter or louder than the rest.
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
        guard !isJSON else {
            var line: [String: JSONValue] = all.mapValues { .string("\($0)") }
            line["t"] = .int(WallClock.now())
            line["level"] = .string(event.level.rawValue)
            line["msg"] = .string("\(event.message)")
            return Terminal.note(json: .object(line))
        }
        let pairs = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        Terminal.note("waypost: \(Self.prefix(event.level))\(event.message)\(pairs)")
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
