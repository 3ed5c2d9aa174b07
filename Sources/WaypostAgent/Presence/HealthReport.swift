import Glibc
import Waypost
import WaypostMessages

/// Writes the health document: checks, counters, and the limits in force.
struct HealthReport: Sendable {
    let agent: String
    let boot: String
    let started: Int64
    let limits: AgentLimits
    let clock: AgentClock
    let monitor: HealthMonitor
    let maps: MapRoom
    let outbox: Outbox
    let events: EventLog
    let loop: LoopWatch

    var json: JSONValue {
        let state = monitor.snapshot
        let checks = checks(state)
        let ended = Dictionary(
            uniqueKeysWithValues: state.ended.map { ($0.key.rawValue, JSONValue.int($0.value)) })
        return [
            "type": "health",
            "agent": .string(agent),
            "boot": .string(boot),
            "epoch": .int(state.epoch),
            "version": .string(Version.current),
            "at": .int(clock.wall()),
            "uptime": .int(max(0, clock.wall() - started)),
            "status": .string(checks.contains { $0["ok"] == false } ? "red" : "green"),
            "mqtt": .int(Int64(state.mqtt)),
            "broker": .string(state.brokerURL),
            "checks": .array(checks),
            "counters": [
                "connects": .int(state.connects),
                "received": .int(state.received),
                "duplicates": .int(state.duplicates),
                "refused": .int(state.refused),
                "ended": .object(ended),
                "events": .int(events.sequence),
                "eventsDropped": .int(events.dropped),
            ],
            "waiting": [
                "commands": .int(Int64(monitor.commandsWaiting)),
                "outbox": .int(Int64(outbox.waiting)),
            ],
            "map": map,
            "limits": (state.limits ?? limits).document,
        ]
    }

    private var map: JSONValue {
        let applied = maps.applied
        let revision = applied.layers.last { $0.name == "agent" }?.revision
        return [
            "rev": revision.map(JSONValue.int) ?? .null,
            "entries": .int(Int64(applied.entries)),
            "inactive": .int(Int64(applied.inactive.count)),
        ]
    }

    private func checks(_ state: HealthMonitor.State) -> [JSONValue] {
        // A clock that is wrong ends no map.
        let expired =
            state.isClockSound
            ? maps.expired(at: clock.wall()).map { maps.label($0.layer) }.joined(separator: ", ") : ""
        return [
            check("store", state.storeProblem == nil, state.storeProblem ?? "writable"),
            check(
                "outbox", !state.isOutboxFull,
                state.isOutboxFull ? "full: no new commands until the broker has some reports" : "has room"),
            check(
                "clock", state.isClockSound,
                state.isClockSound ? "sound" : "stepped, or before the date of the build; exp is refused"),
            check("loop", !loop.isStalled, loop.isStalled ? "the link's loop stands still" : "turns"),
            check("map", expired.isEmpty, expired.isEmpty ? "within its time" : "its exp passed: \(expired)"),
            check(
                "subscriptions", state.subscriptionsRefused.isEmpty,
                state.subscriptionsRefused.isEmpty
                    ? "all granted" : "refused: \(state.subscriptionsRefused.joined(separator: " "))"),
            check(
                "echo", state.echo != .missing,
                state.echo == .missing
                    ? "own message did not come back: check the broker's rules" : state.echo.rawValue),
        ] + certificateCheck(state)
    }

    private func certificateCheck(_ state: HealthMonitor.State) -> [JSONValue] {
        guard
            let finding = CertificateWatch(file: state.certificateFile).finding(
                broker: state.brokerCertificate, at: clock.wall())
        else {
            return []
        }
        return [check("certificate", finding.isOK, finding.detail)]
    }

    private func check(_ name: String, _ isOK: Bool, _ detail: String) -> JSONValue {
        ["name": .string(name), "ok": .bool(isOK), "detail": .string(detail)]
    }
}

extension AgentLimits {
    /// The limits as they stand in health.
    var document: JSONValue {
        [
            "commandBytes": .int(Int64(commandBytes)),
            "mapBytes": .int(Int64(mapBytes)),
            "jsonDepth": .int(Int64(json.maximumDepth)),
            "objectKeys": .int(Int64(json.maximumKeys)),
            "stringBytes": .int(Int64(json.maximumStringBytes)),
            "mapEntries": .int(Int64(MapDocument.maximumEntries)),
            "intakeRate": .int(Int64(intakeRate)),
            "intakeBurst": .int(Int64(intakeBurst)),
            "waitingCommands": .int(Int64(waitingCommands)),
            "dedupeKeys": .int(Int64(dedupeKeys)),
            "commitEntries": .int(Int64(commitEntries)),
            "logRate": .int(Int64(logRate)),
            "logBurst": .int(Int64(logBurst)),
            "logRing": .int(Int64(logRing)),
            "outboxRecords": .int(Int64(outboxRecords)),
            "outboxBytes": .int(Int64(outboxBytes)),
            "inFlight": .int(Int64(inFlight)),
            "handlerDeadlineMs": .int(handlerDeadline.milliseconds),
        ]
    }
}
