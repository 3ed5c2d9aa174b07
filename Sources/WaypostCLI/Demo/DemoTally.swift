import Waypost
import WaypostMessages

/// What the demo counted.
struct DemoTally: Sendable {
    var commands = 0
    var statuses: [Code.Status: Int] = [:]
    var documents = 0
    var refused = 0
    var events = 0
    var failures = 0
    /// Steps that were not as expected.
    var unexpected = 0

    /// The summary for people.
    func text(after time: Duration) -> String {
        let replies = Code.Status.allCases.compactMap { status in
            statuses[status].map { "\($0) \(status.rawValue)" }
        }
        let tenths = time.milliseconds / 100
        return "\(commands.counted("command")) (\(replies.joined(separator: ", "))), "
            + "\(documents.counted("map document")) (\(documents - refused) applied, \(refused) refused), "
            + "\(events.counted("log event")), \(failures.counted("failure report")), in \(tenths / 10).\(tenths % 10) s"
    }

    /// The summary for programs.
    var json: JSONValue {
        [
            "commands": .int(Int64(commands)),
            "replies": .object(
                Dictionary(uniqueKeysWithValues: statuses.map { ($0.key.rawValue, .int(Int64($0.value))) })),
            "maps": ["applied": .int(Int64(documents - refused)), "refused": .int(Int64(refused))],
            "events": .int(Int64(events)), "failures": .int(Int64(failures)),
            "unexpected": .int(Int64(unexpected)),
        ]
    }
}
