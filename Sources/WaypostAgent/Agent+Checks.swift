import Logging
import MQTTLink
import Threading
import Waypost
import WaypostMessages

extension Agent {
    /// The health checks as they are now, each with the time since when it is so.
    var currentChecks: [HealthCheck] {
        let now = clock.wall()
        let checks = checks(at: now, status.current, journal.counters, outbox.counters)
        return healthHistory.dated(events.redaction.masked(checks), at: now)
    }

    /// The health checks; ``HealthCheckGuide`` says what each means.
    ///
    /// - Parameter now: in milliseconds since 1970.
    func checks(
        at now: Int64, _ link: LinkStatus.State, _ stored: JournalState.Counters, _ sent: Outbox.Counters
    ) -> [HealthCheck] {
        let isClockCorrect = clockMonitor.isCorrect(at: now)
        let missing = reloadable.withLock(\.missing).values.reduce(0, +)
        let own = [
            HealthCheck("store", problem: store.disk.finding, ok: "ok (writable)"),
            HealthCheck(
                "ids", problem: ledger.shares.problem, ok: ledger.shares.nearLimit ?? "ok (free space)"),
            HealthCheck(
                "outbox",
                problem: stored.isOutboxFull
                    ? "full: no new commands until the broker has taken some reports" : nil,
                ok: "ok (free space)"),
            HealthCheck("clock", problem: isClockCorrect ? nil : clockProblem(at: now), ok: "ok (plausible)"),
            HealthCheck(
                "loop", problem: loop.isStalled ? "the network thread does not respond" : nil,
                ok: "ok (running)"),
            HealthCheck("handlers", problem: handlerShortage, ok: "ok (free threads)"),
            HealthCheck(
                "map", problem: mapProblem(at: now, isClockCorrect: isClockCorrect), ok: "ok (not expired)"),
            modulesCheck,
            missing > 0 || link.connects > 0
                ? HealthCheck(
                    "routes",
                    problem: missing > 0
                        ? "the published lists are truncated; \(missing) entries are missing" : nil,
                    ok: "ok (published)")
                : .unknown(
                    "routes", link.outage == nil ? "not published yet" : Self.offline, isPending: true),
        ]
        return [linkCheck(link)] + own + rightsChecks(link, sent) + certificateCheck(link, at: now)
    }

    private var modulesCheck: HealthCheck {
        let failed = router.moduleFailures.map { "\($0.module): \($0.reason)" }
        let names = router.modulesLoading.joined(separator: ", ")
        let loading = names.nonEmpty.map { ["being set up: \($0)"] } ?? []
        guard failed.isEmpty, let loading = loading.first else {
            return HealthCheck(
                "modules", problem: (failed + loading).joined(separator: "; ").nonEmpty, ok: "ok (set up)")
        }
        return .unknown("modules", loading, isPending: true)
    }

    /// Why checks were not made that need a connection.
    private static let offline = "there is no connection"

    private func clockProblem(at now: Int64) -> String {
        let found =
            now < ClockCheck.buildDate
            // The day alone: a time would make each health document another one.
            ? "it shows \(Timestamp.rfc3339(now).prefix(10)), which is before this version was built"
            : "it was set to another time a moment ago"
        return "\(found); commands and maps with exp are refused"
    }

    private func linkCheck(_ link: LinkStatus.State) -> HealthCheck {
        guard let outage = link.outage else {
            guard let connection = link.connection else {
                return .unknown("link", "connecting for the first time", isPending: true)
            }
            return HealthCheck(
                "link", .ok, "connected to \(connection.broker), MQTT \(connection.version)")
        }
        let reason = outage.reason.code.map { "\($0): \(outage.reason.summary)" } ?? outage.reason.summary
        let disk = outage.reason.cause == .batchRefused ? store.disk.problem : nil
        let left = outage.nextTry.map { $0 - clock.monotonic() }
        let next =
            left.map { $0 >= 1_000 ? "; next try in \(TimeText.span($0))" : "; being tried again" } ?? ""
        return HealthCheck(
            "link", .failed,
            "\(reason)\(disk.map { ": \($0)" } ?? "")\(next) (\(outage.count.counted("try", "tries")))",
            since: outage.since,
            advice: disk == nil ? outage.reason.advice : HealthCheckGuide.find("store")?.advice)
    }

    /// What only a connection shows.
    private func rightsChecks(_ link: LinkStatus.State, _ sent: Outbox.Counters) -> [HealthCheck] {
        let test = link.selfTest
        let refused = link.refusedSubscriptions
        let publishes =
            sent.refusedAndDropped > 0 || sent.kept > 0
            ? HealthCheck(
                "publishes", .failed,
                "the broker refuses messages (\(sent.lastRefusal ?? "unknown reason")): \(sent.kept) are kept and sent again, \(sent.refusedAndDropped) were dropped"
            ) : nil
        guard link.isConnected else {
            return [publishes ?? .unknown("publishes", Self.offline, isPending: true)]
                + ["subscriptions", "echo", "commands"].map {
                    HealthCheck.unknown($0, Self.offline, isPending: true)
                }
        }
        return [
            publishes
                ?? (sent.hasAccepted
                    ? HealthCheck("publishes", .ok, "ok (accepted)")
                    : .unknown("publishes", "being tried", isPending: true)),
            HealthCheck(
                "subscriptions",
                problem: refused.isEmpty ? nil : "refused: \(refused.joined(separator: " "))",
                ok: "ok (all granted)"),
            HealthCheck("echo", test.echo),
            intake.hasOwnCommand
                ? HealthCheck("commands", .ok, "ok (they arrive)") : HealthCheck("commands", test.commands),
        ]
    }

    private func mapProblem(at now: Int64, isClockCorrect: Bool) -> String? {
        // With a wrong clock no map expires.
        let expired = isClockCorrect ? maps.expired(at: now) : []
        return [
            ("its exp passed", expired), ("does not fit this build", maps.unfit),
            ("not signed by enough trusted keys", maps.untrusted), ("damaged on the disk", maps.damaged),
        ].filter { !$0.1.isEmpty }.map { "\($0): \($1.joined(separator: ", "))" }
            .joined(separator: "; ").nonEmpty
    }

    /// What is wrong when handlers block threads that others wait for; nil when they do not.
    private var handlerShortage: String? {
        let handlers = executor.handlers
        if handlers.isExhausted {
            return "handlers block all \(handlers.limit) threads; other commands end with 408"
        }
        let senders = handlers.stuckOwners
        guard !senders.isEmpty else { return nil }
        return "handlers block all threads that one sender may have; further commands of "
            + "\(senders.prefix(3).joined(separator: ", ")) end with 408"
    }

    var certificates: CertificateCheck {
        CertificateCheck(
            file: reloadable.withLock(\.configuration.link.tls?.certificateFile), disk: certificateDisk)
    }

    private func certificateCheck(_ link: LinkStatus.State, at now: Int64) -> [HealthCheck] {
        guard let finding = certificates.finding(broker: link.connection?.certificate, at: now) else {
            return []
        }
        let fault = renewal.withLock(\.last).flatMap { $0.isOK ? nil : events.redaction.masked($0.detail) }
        return [
            HealthCheck(
                "certificate", finding.isOK && fault == nil ? .ok : .failed,
                finding.detail + (fault.map { "; \($0)" } ?? ""))
        ]
    }

    // MARK: What the agent's own log says

    /// Logs each check that came out otherwise than the log has said, for a reader who has no broker.
    func logChanges(_ checks: [HealthCheck]) {
        // What becomes of the link has lines of its own.
        for check in healthHistory.takeUnlogged(checks) where check.name != "link" {
            let advice = check.advice.map { "; \($0)" } ?? ""
            switch check.state {
            case .failed: logger.warning("health: \(check.name) failed: \(check.detail)\(advice)")
            case .unknown: logger.notice("health: \(check.name) not known: \(check.detail)\(advice)")
            case .ok: logger.notice("health: \(check.name) is ok again")
            }
        }
    }
}

extension HealthCheck {
    fileprivate init(_ name: String, _ finding: SelfTest.Finding) {
        switch finding {
        case .pending: self = .unknown(name, "being tried", isPending: true)
        case .ok: self.init(name, .ok, "ok (it came back)")
        case .unknown(let reason): self = .unknown(name, reason)
        case .missing: self.init(name, .failed, "the agent's message to itself did not come back")
        }
    }
}

extension String {
    fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
