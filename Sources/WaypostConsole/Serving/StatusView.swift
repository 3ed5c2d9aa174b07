import Glibc
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// What the console says of itself.
struct StatusView: Sendable {
    let backend: Backend
    let reader: FleetReader
    let tabs: Tabs
    let allowsCommands: Bool

    /// With each event stream, and when something of it changes.
    var json: JSONValue {
        let now = WallClock.now()
        let connection = reader.connection
        let (began, agents, problems, lines) = reader.read {
            ($0.began, $0.rows.count, $0.problems, $0.lines)
        }
        return [
            "now": .int(now), "asOf": .int(reader.asOf(now)), "started": .int(began),
            "connected": .bool(connection.broker != nil),
            "since": .int(connection.since), "broker": .string(connection.broker ?? backend.settings.place),
            "root": .string(backend.settings.root), "sender": .string(backend.settings.name),
            "commands": .bool(allowsCommands), "version": .string(Version.current),
            "reason": .init(connection.broker == nil ? connection.reason : nil),
            "agents": .int(Int64(agents)), "problems": .int(Int64(problems)),
            "rate": .double(lines.perSecond(at: now)),
            "lost": .int(Int64(connection.lost)),
        ]
    }

    /// The page of the console's own health.
    var health: JSONValue {
        let now = WallClock.now()
        let connection = reader.connection
        let (agents, lines, began, unread) = reader.read { ($0.rows.count, $0.lines, $0.began, $0.unread) }
        let lag = tabs.lag
        let uptime = max(1, now - began)
        let usage = Self.usage()
        func check(_ name: String, _ isOK: Bool, _ detail: String, _ advice: String?) -> JSONValue {
            [
                "name": .string(name), "state": .string(isOK ? "ok" : "failed"), "detail": .string(detail),
                "advice": .init(isOK ? nil : advice),
            ]
        }
        return [
            "asOf": .int(now), "uptime": .int(uptime), "connected": .bool(connection.broker != nil),
            "since": .int(connection.since), "tabs": .int(Int64(tabs.count)),
            "maximumTabs": .int(Int64(Tabs.maximum)), "memory": .init(usage.memory),
            "cpu": .double(Double(usage.cpu) / Double(uptime)),
            "lines": [
                "kept": .int(Int64(lines.count)), "capacity": .int(Int64(LineRing.capacity)),
                "perSecond": .double(lines.perSecond(at: now)), "dropped": .int(tabs.dropped),
            ],
            "agents": .int(Int64(agents)), "lost": .int(Int64(connection.lost)),
            "lag": ["p50": .init(lag?.p50), "p99": .init(lag?.p99)],
            "checks": [
                check(
                    "broker", connection.broker != nil,
                    connection.broker.map { "connected to \($0)" } ?? connection.reason ?? "not connected",
                    "waypost doctor"),
                check(
                    "agents", connection.isComplete,
                    connection.isComplete
                        ? "all retained states are read"
                        : connection.gap.map { "agents may be missing: \($0)" }
                            ?? "the broker still sends what it keeps",
                    "some brokers send no retained messages to a subscription with a wildcard: waypost help broker"
                ),
                check(
                    "rights", connection.denied.isEmpty,
                    connection.denied.isEmpty
                        ? "all topics may be read"
                        : "the broker refused \(connection.denied.joined(separator: ", "))",
                    "give \(backend.settings.name) the rights of the role ops"),
                check(
                    "loss", connection.lost == 0,
                    connection.lost == 0
                        ? "no message was lost"
                        : "\(connection.lost.counted("message")) did not reach the console",
                    "raise the broker's queue for \(backend.settings.name), or run the console nearer to it"),
                check(
                    "events", unread == 0,
                    unread == 0
                        ? "all events and failure reports can be read"
                        : "\(unread.counted("event")) came and can't be read",
                    "see what an agent sends: waypost logcat; it may be newer than the console"),
            ],
        ]
    }

    /// Resident memory in bytes, and processor time in milliseconds.
    private static func usage() -> (memory: Int64?, cpu: Int64) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func milliseconds(_ time: timeval) -> Int64 {
            Int64(time.tv_sec) * 1_000 + Int64(time.tv_usec) / 1_000
        }
        var memory: Int64?
        if let file = fopen("/proc/self/statm", "r") {
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 128)
            if fgets(&line, 128, file) != nil {
                let words = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }.split(
                    separator: UInt8(ascii: " "))
                if words.count > 1, let pages = Int64(String(decoding: words[1], as: UTF8.self)) {
                    memory = pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
                }
            }
        }
        return (memory, milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime))
    }
}
