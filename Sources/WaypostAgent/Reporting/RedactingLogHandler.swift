import Logging
import Waypost

/// Masks secrets in what the agent logs, before the host application's handler writes it.
struct RedactingLogHandler: LogHandler {
    private var base: any LogHandler
    private let redaction: Redaction

    init(_ base: any LogHandler, _ redaction: Redaction) {
        self.base = base
        self.redaction = redaction
    }

    var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { base.metadataProvider }
        set { base.metadataProvider = newValue }
    }

    var logLevel: Logger.Level {
        get { base.logLevel }
        set { base.logLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue }
    }

    func log(event: Logging.LogEvent) {
        var event = event
        event.message = "\(redaction.masked(event.message.description))"
        base.log(event: event)
    }
}
