import Logging
import MQTTLink
import ServiceLifecycle
import Threading
import Waypost
import WaypostMessages

extension Agent {
    /// Recovers what an earlier run left, connects, and serves until the task is cancelled or shut down gracefully.
    ///
    /// A stop takes no longer than ``AgentConfiguration/stopWithin`` in any state, also when the disk is full or a
    /// handler never ends: what is not done by then is on disk, and is done at the next start.
    ///
    /// - Throws: ``StoreError`` when the state directory can't be read at the start.
    public func run() async throws {
        try await withTaskCancellationHandler {
            try await withGracefulShutdownHandler {
                try await withTaskExecutorPreference(AgentThreads.pool) { try await serve() }
            } onGracefulShutdown: {
                self.stop(because: "the program that runs it")
            }
        } onCancel: {
            Scheduling.undisturbed { self.stop(because: "the cancellation of its task") }
        }
    }

    /// Stops the agent; of several reasons the first counts.
    package func stop(because reason: String) {
        willStop(because: reason)
        shutdown.fire()
    }

    /// Notes why it will be stopped in a moment by who runs it, which may not see it end before.
    package func willStop(because reason: String) { runs.willStop(because: reason) }

    @concurrent
    private func serve() async throws {
        defer {
            isReady.fire()
            local.stopped()
        }
        let observers = observe()
        defer { for observer in observers { observer.cancel() } }
        for text in store.notices {
            logger.warning("\(text)")
            reporter.log(.warning, "Store", text)
        }
        for text in store.repairs {
            logger.warning("\(text)")
            reporter.failed(.disk, text, in: .agent)
        }
        // Modules first: maps and stored commands refer to their routes and services.
        let slowModules = await loadModules()
        defer { slowModules?.cancel() }
        try maps.restore()
        if let override = try store.commit({ try $0.levelOverride() }) { events.setOverride(override) }

        finishCertificateSwap()
        // The link does not keep its delegate alive.
        let listener = LinkListener(self)
        defer { withExtendedLifetime(listener) {} }
        let link = makeLink(linkConfiguration, listener)
        reloadable.withLock { $0.link = link }
        defer { reloadable.withLock { $0.link = nil } }
        startDelivery(over: link)
        // While the disk takes nothing the agent can serve anyway; what is unfinished runs once it does.
        let recovery = recoverMore(Recovery(last: ledger.lastStoredEarlier))
        if recovery != nil { logger.error("what an earlier run left waits until the disk takes something") }
        isReady.fire()
        let maintenance = AgentThreads.start { await self.runMaintenance(recovery) }
        let watch = Task(executorPreference: AgentThreads.watch) { await self.watch() }
        link.start()
        systemd?.notify("READY=1", "STATUS=connecting")
        await shutdown.wait()
        await stop(link, after: [maintenance, watch])
    }

    /// Writes what happens in the router and the registry into the event log, and notices when routes change.
    private func observe() -> [RegistrationHandle] {
        [
            router.observe { [events] in events.log($0) },
            router.onOpen { [routeCounters, maps] in
                routeCounters.count($0)
                maps.opened($0)
            },
            router.services.observe { [events] in events.log($0) },
            // What did not fit may fit now; what is in force and the routes are published after that.
            router.onRegistrationChange { [maps] in maps.tryAgainSoon() },
        ]
    }

    /// Sets modules up; those that take too long go on in the background.
    ///
    /// - Returns: What reports those that fail later; nil when all have ended.
    private func loadModules() async -> Task<Void, Never>? {
        let router = router
        let scope = OpenScope(executor: executor.handlers)
        await AgentThreads.wait(atMost: configuration.limits.handlerDeadline, orUntil: shutdown) {
            // A set-up may block its thread, as a handler may.
            _ = await OpenScope.$current.withValue(scope) { try? await router.load() }
        }
        let (failures, loading) = (router.moduleFailures, router.modulesLoading)
        report(failures)
        guard !loading.isEmpty else { return nil }
        for module in loading {
            logger.warning("module \(module) is not set up yet; its routes and services wait for it")
        }
        return AgentThreads.start { [weak self] in
            var known = Set(failures)
            // Looked at again and again: one that hangs must not hide that another has failed.
            while !router.modulesLoading.isEmpty {
                await AgentThreads.sleep(for: .seconds(1))
                guard !Task.isCancelled else { return }
                self?.report(router.moduleFailures.filter { known.insert($0).inserted })
            }
        }
    }

    private func report(_ failures: [ModuleFailure]) {
        for failure in failures {
            let text = "module \(failure.module) could not be set up: \(failure.reason)"
            logger.error("\(text)")
            reporter.failed(.module, text, in: .router)
        }
    }

    private func startDelivery(over link: any MessageLink) {
        outbox.start(
            Outbox.Connections(
                publish: { link.publish($0) },
                settled: { [weak self] in self?.settled($0) },
                accepted: { [weak self] in self?.publishHealth() },
                willRead: { [journal] in journal.commitAll() },
                hasRoomForLogs: { [events] in events.flushWhenRoom() },
                damaged: { [weak self] in self?.report($0) }))
        events.connect(
            EventLog.Connection(
                publish: { [weak self] in self?.publish($0) },
                hasRoom: { [outbox] in outbox.hasRoomForLogs },
                maximumBytes: { [weak self] in self?.maximumPayload ?? .max }))
    }

    /// The link's settings, completed by what the protocol requires of an agent.
    private var linkConfiguration: MQTTLinkConfiguration {
        var link = configuration.link
        link.clientID = configuration.agent
        link.cleanStart = false
        link.inFlightLimit = configuration.limits.inFlight
        link.speaks311 = spokenVersions
        link.maximumPacketSize = UInt32(
            clamping: max(configuration.limits.mapBytes, configuration.limits.commandBytes) * 4)
        // The agent writes to these two itself, to see that it can be reached.
        let own = [
            topics.echo(of: configuration.agent), topics.command(to: .agent(configuration.agent), from: "+"),
        ]
        link.subscriptions = topics.filters(of: configuration.agent, groups: groups.names).map {
            own.contains($0) ? Subscription($0) : subscription($0)
        }
        // What the broker keeps of the agent is its own, and is published anew on each connection.
        link.subscriptions += topics.documents(of: configuration.agent).map {
            Subscription($0, qos: .atMostOnce, noLocal: true, skipsRetained: true)
        }
        return link
    }

    /// With which QoS it subscribes to a filter.
    func qos(of filter: String) -> QoS {
        configuration.groupQoS == 0 && topics.isOfGroup(filter) ? .atMostOnce : .atLeastOnce
    }

    // MARK: Stop

    /// Commands are stored and not run, what runs ends, what waits is sent, the goodbye follows, the link disconnects.
    private func stop(_ link: any MessageLink, after regularWork: [Task<Void, Never>]) async {
        for work in regularWork { work.cancel() }
        systemd?.notify("STOPPING=1")
        reporter.log(.info, "Agent", "stopping")
        executor.stop()
        let limit = configuration.stopWithin
        let (executor, outbox) = (executor, outbox)
        await AgentThreads.wait(atMost: limit * 0.4) { await executor.stopped() }
        local.stopped()
        // A disk that hangs must not delay the stop.
        await AgentThreads.wait(atMost: limit * 0.2) { [self] in
            // It may be about to report something.
            for work in regularWork { await work.value }
            reportCounts(isStopping: true)
            events.flush()
            journal.commitAll()
            await outbox.drained()
            spans?.stopped()
        }
        let goodbye = MQTTMessage.retained(topics.state(of: configuration.agent), presence.message(.shutdown))
        // The link's thread may be waiting for the disk.
        await AgentThreads.wait(atMost: limit * 0.25) {
            await link.stop(after: [goodbye], within: limit * 0.2)
        }
        outbox.close()
        let end = runs.end(at: clock.wall())
        await AgentThreads.wait(atMost: limit * 0.1) { [self] in
            // What the link brought meanwhile is reported by the next start.
            reportCounts(isStopping: true)
            journal.close()
            let unsaid = events.unsaid + Int64(outbox.events)
            // What is not recovered stays as that run left it, for the next start.
            guard runs.hasRecovered else { return store.close() }
            try? store.commit { transaction in
                if executor.waiting == 0 { try transaction.setStoppedCleanly(true) }
                guard var run = try transaction.run() else { return }
                (run.ended, run.reason, run.unsaidEvents) = (end.at, end.detail, unsaid)
                try transaction.setRun(run)
            }
            store.close()
        }
        updateMetrics()
        logger.notice("agent \(configuration.agent) stopped")
    }
}
