import WaypostMessages

extension Agent {
    /// What has to be done from time to time, until the task is cancelled.
    func keepUp() async {
        var lastHealth = clock.monotonic()
        var healthAfter = nextHealth()
        var cursor: Int64 = 0
        while !Task.isCancelled {
            // Half a minute's work at most once in two seconds: an idle device sleeps.
            try? await Task.sleep(for: .seconds(2))
            let now = clock.monotonic()
            for failure in failures.windowsOver(at: clock.wall()) { journal.append(.failed(failure)) }
            judgeMaps()
            guard now - lastHealth >= healthAfter else { continue }
            lastHealth = now
            healthAfter = nextHealth()
            judgeEcho()
            publishHealth()
            cursor = await forget(after: cursor)
        }
    }

    private func nextHealth() -> Int64 {
        let interval = configuration.healthInterval.milliseconds
        return interval + Int64.random(in: -(interval / 10)...(interval / 10))
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
    private func forget(after cursor: Int64) async -> Int64 {
        let now = clock.wall()
        guard
            let result = try? await store.commitInBackground({
                try $0.forgetEnded(after: cursor, at: now, limit: 20_000)
            })
        else { return cursor }
        intake.forgot(result.removed)
        return result.next ?? 0
    }
}
