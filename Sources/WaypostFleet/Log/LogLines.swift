import Waypost
import WaypostMessages

/// What came with one message, as lines; what can't be read is counted.
package struct LogLines: Sendable {
    package var lines: [LogLine] = []
    /// How many lines there were besides, which can't be read.
    package var unread = 0

    /// The events of a payload on `log/{level}`, one a line.
    package init(events payload: [UInt8], from agent: String) {
        for line in payload.split(separator: UInt8(ascii: "\n")) {
            let json = try? JSONValue(parsing: Array(line), limits: .trustedFile)
            if let event = json.flatMap({ LogLine.event($0, line, from: agent) }) {
                lines.append(event)
            } else {
                unread += 1
            }
        }
    }

    /// The failure report of a payload on `fail`; an empty payload is none.
    package init(failure payload: [UInt8], from agent: String) {
        guard !payload.isEmpty else { return }
        if let line = LogLine.failure(payload, from: agent) { lines = [line] } else { unread = 1 }
    }
}
