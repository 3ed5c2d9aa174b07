import Waypost
import WaypostMessages

extension Agent {
    /// What has to be done from time to time, until the task is cancelled.
    func keepUp() async {
        var lastHealth = clock.monotonic()
        var healthAfter = nextHealth()
        var cursor: Int64 = 0
        var lastSign: Int64 = 0
        // An idle device sleeps.
        let pause = min(
            10_000, (manager?.watchdog ?? .max) / 3, max(1_000, configuration.healthInterval.milliseconds))
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(pause))
            let now = clock.monotonic()
            judgeLoop()
            if let interval = manager?.watchdog, now - lastSign >= interval / 3, !loop.isStalled {
                manager?.tell("WATCHDOG=1")
                lastSign = now
            }
            for failure in failures.windowsOver(at: clock.wall()) { journal.append(.failed(failure)) }
            judgeMaps()
            updateMetrics()
            guard now - lastHealth >= healthAfter else { continue }
            lastHealth = now
            healthAfter = nextHealth()
            judgeEcho()
            publishHealth()
            cursor = await forget(after: cursor)
        }
    }

    /// Brings counters and gauges up to date, which happens at least every 10 s; for an exporter that is asked in between.
    public func updateMetrics() {
        health.metrics.bring(
            upTo: {
                .init(health: health.snapshot, events: events.sequence, eventsDropped: events.dropped)
            },
            commandsWaiting: health.commandsWaiting, outbox: outbox.waiting, isOnline: outbox.isOnline)
    }

    private func nextHealth() -> Int64 {
        let interval = configuration.healthInterval.milliseconds
        return interval + Int64.random(in: -(interval / 10)...(interval / 10))
    }

    /// Reports a link's loop that stands still, and that it turns again.
    func judgeLoop() {
        switch loop.look(at: clock.monotonic()) {
        case nil: return
        case .stalled(let time):
            reportFailure(
                .loopStalled,
                "the link's loop has stood still for \(time) ms; is the disk stalled, or the machine starved?"
            )
        case .recovered(let time):
            events.log(.warning, "Link", "the loop turns again after \(time) ms")
        }
        publishHealth()
    }

    /// Reports maps whose time is over.
    func judgeMaps() {
        let now = clock.wall()
        // A clock that is wrong ends no map.
        guard intake.isClockSound(at: now) else { return }
        let (due, isChanged) = maps.lookAtTheClock(wall: now, monotonic: clock.monotonic())
        for map in due {
            let name = maps.label(map.layer) + (map.revision.map { " rev \($0)" } ?? "")
            let fate = maps.expiry == .keep ? "it stays in force" : "it is left out"
            events.log(.warning, "Map", "expired \(name); \(fate)", isError: true)
            reportFailure(
                .mapExpired,
                "the map of \(name) was good until \(map.expires); \(fate) until a new one comes", in: .map)
        }
        if isChanged { intake.publishApplied() }
        if !due.isEmpty || isChanged { publishHealth() }
    }

    private func judgeEcho() {
        let state = health.snapshot
        guard state.echo == .pending, state.connects > 0 else { return }
        health.update { $0.echo = .missing }
        reportFailure(
            .aclSuspected,
            "a message to \(topics.echo(of: configuration.agent)) did not come back; check the broker's rules"
        )
    }

    /// Forgets old commands, a part of the table each time.
    func forget(after cursor: Int64) async -> Int64 {
        let now = clock.wall()
        guard intake.mayForget(at: now) else { return cursor }
        guard
            let result = try? await store.commitInBackground({
                try $0.forgetEnded(after: cursor, at: now, limit: 20_000)
            })
        else { return cursor }
        intake.forgot(result.removed)
        if result.next == nil { _ = try? await store.commitInBackground { try $0.giveBackSpace() } }
        return result.next ?? 0
    }
}
