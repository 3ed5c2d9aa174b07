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
        set { base.metadata = redaction.masked(newValue) }
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
        set { base[metadataKey: key] = newValue.map { redaction.hides(key) ? "***" : redaction.masked($0) } }
    }

    func log(event: Logging.LogEvent) {
        var event = event
        event.message = "\(redaction.masked(event.message.description))"
        event.metadata = event.metadata.map(redaction.masked)
        base.log(event: event)
    }
}

extension Redaction {
    fileprivate func masked(_ metadata: Logger.Metadata) -> Logger.Metadata {
        Dictionary(uniqueKeysWithValues: metadata.map { ($0, hides($0) ? "***" : masked($1)) })
    }

    fileprivate func masked(_ value: Logger.MetadataValue) -> Logger.MetadataValue {
        switch value {
        case .string(let text): .string(masked(text))
        case .stringConvertible(let value): .string(masked(value.description))
        case .array(let values): .array(values.map { masked($0) })
        case .dictionary(let members): .dictionary(masked(members))
        }
    }
}
