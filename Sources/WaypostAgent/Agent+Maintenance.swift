import Logging
import MQTTLink
import Threading
import Waypost
import WaypostMessages

extension Agent {
    /// How long the regular work pauses, in milliseconds: few wake-ups, so that an idle device can sleep.
    private var pause: Int64 {
        min(10_000, (systemd?.watchdog ?? .max) / 3, max(1_000, configuration.healthInterval.milliseconds))
    }

    /// Watches the link and the disk and publishes health, until the task is cancelled.
    ///
    /// It waits for nothing that it watches, so nothing here may wait for the disk, and its thread is its own.
    func watch() async {
        var lastHealth = clock.monotonic()
        var healthAfter = nextHealth()
        var lastSign: Int64 = 0
        while !Task.isCancelled {
            await AgentThreads.sleep(for: .milliseconds(pause))
            let now = clock.monotonic()
            checkLoop()
            checkDisk()
            if let interval = systemd?.watchdog, now - lastSign >= interval / 3, !loop.isStalled {
                systemd?.notify("WATCHDOG=1")
                lastSign = now
            }
            checkSelfTest()
            // What has changed is shown before its time.
            guard now - lastHealth >= healthAfter || healthHistory.takeNews(currentChecks) else { continue }
            lastHealth = now
            healthAfter = nextHealth()
            publishHealth()
        }
    }

    /// The other regular work, until the task is cancelled; it may wait for the disk.
    ///
    /// - Parameter recovery: what is left to recover.
    func runMaintenance(_ recovery: Recovery?) async {
        var recovery = recovery
        var lastSweep = clock.monotonic()
        var cursor: Int64 = 0
        var spareMemory = SpareMemory()
        var renewing: Task<Void, Never>?
        defer { renewing?.cancel() }
        while !Task.isCancelled {
            await AgentThreads.sleep(for: .milliseconds(pause))
            let now = clock.monotonic()
            recovery = recovery.flatMap(recoverMore)
            reportCounts()
            _ = clockMonitor.isCorrect(at: clock.wall())
            maps.checkTimeSoon()
            renewing = checkCertificate() ?? renewing
            updateMetrics()
            if spareMemory.takeRelease(afterChanges: store.changeCount, at: now) { releaseMemory() }
            guard now - lastSweep >= configuration.healthInterval.milliseconds else { continue }
            lastSweep = now
            cursor = forgetEndedCommands(after: cursor)
        }
    }

    /// Reports what was only counted so far, each once that is due; every count of this kind is here.
    ///
    /// The other two are on disk with the commit that changes them: reports without space (``ReportQuota``), and, at a
    /// stop, events that did not get out (``AgentRun/unsaidEvents``).
    ///
    /// - Parameter isStopping: whether all is due, because there is no later.
    func reportCounts(isStopping: Bool = false) {
        if isStopping || store.disk.problem == nil, let report = alarm.takeOutage() {
            reporter.sendReport(report)
        }
        for failure in failures.windowsOver(at: isStopping ? nil : clock.wall()) { journal.failed(failure) }
        for line in refusals.summary(at: isStopping ? nil : clock.monotonic()) { logger.error("\(line)") }
        if maps.takeOpens() { publishApplied() }
    }

    private func releaseMemory() {
        outbox.releaseMemory()
        intake.releaseMemory()
        executor.releaseMemory()
        reloadable.withLock(\.link)?.releaseMemory()
        AgentThreads.pool.renewThreads()
        TimerThread.shared.renewThread()
        // Not here: on a disk that hangs, it waits for the commit that hangs there.
        AgentThreads.start { [store] in
            store.releaseMemory()
            SpareMemory.release()
        }
    }

    private func nextHealth() -> Int64 {
        let interval = configuration.healthInterval.milliseconds
        var chance = Chance()
        return interval + Int64.random(in: -(interval / 10)...(interval / 10), using: &chance)
    }

    /// Reports that the network thread does not respond, and that it does again.
    func checkLoop() {
        switch loop.check(at: clock.monotonic()) {
        case nil: return
        case .stalled(let time):
            reporter.failed(
                .loopStalled,
                "the network thread has not responded for \(TimeText.span(time)); is the disk stalled, or the machine overloaded?",
                in: .link)
        case .recovered(let time):
            reporter.log(
                .warning, "Link", "the network thread responds again after \(TimeText.span(time))")
        }
        publishHealth()
    }

    /// Reports that the disk hangs, and that it answers again.
    private func checkDisk() {
        switch store.disk.takeNews() {
        case nil: return
        case .hangs(let hang):
            logger.error("\(hang)")
            // Nothing can be stored, so that a report could not leave.
            if let report = alarm.raise(hang) {
                outbox.enqueue([OutboxItem(origin: .volatile, kind: .presence, message: report)])
            }
        case .responds:
            logger.notice("the disk responds again")
            reporter.log(.warning, "Store", "the disk responds again")
        }
        publishHealth()
    }

    private func checkSelfTest() {
        let overdue = status.changeSelfTest { $0.overdue(at: clock.monotonic()) }
        let agent = configuration.agent
        if overdue.echo { reportMissing(topics.echo(of: agent)) }
        if overdue.commands { reportMissing(topics.command(to: .agent(agent), from: agent)) }
    }

    private func reportMissing(_ topic: String) {
        reporter.failed(
            .aclSuspected, "a message to \(topic) did not come back; check the broker's rules", in: .link)
    }

    /// Forgets old commands, one part of the table each time.
    func forgetEndedCommands(after cursor: Int64) -> Int64 {
        let now = clock.wall()
        guard clockMonitor.mayForget(at: now) else { return cursor }
        guard
            let result = try? store.commit({ try $0.forgetEnded(after: cursor, at: now, limit: 20_000) })
        else { return cursor }
        ledger.forgot(result.removed)
        guard let next = result.next else {
            try? store.commit { try $0.incrementalVacuum() }
            return 0
        }
        // Else the pages that were looked through would stay in memory until there is much work again.
        store.releaseMemory()
        SpareMemory.releaseHeap()
        return next
    }
}
