import Logging
import TestSupport

/// Keeps what is logged.
struct LineRecorder: LogHandler {
    let lines: TestSupport.EventLog<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(_ lines: TestSupport.EventLog<String>) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: Logging.LogEvent) { lines.append(event.message.description) }
}
