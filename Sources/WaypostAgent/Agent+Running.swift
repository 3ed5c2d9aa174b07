import Logging
import MQTTLink
import ServiceLifecycle
import Waypost
import WaypostMessages

extension Agent {
    /// Takes up what an earlier run left, connects, and serves until the task is cancelled or shut down gracefully.
    ///
    /// A stop is the path of the data from left to right: intake stores without running, what runs ends, what
    /// waits is sent, the goodbye follows, the link disconnects; in ``AgentConfiguration/stopWithin`` altogether.
    ///
    /// - Throws: ``StoreError`` when the state directory can't be read at the start.
    public func run() async throws {
        let listeners = listen()
        defer { for listener in listeners { listener.cancel() } }
        if let file = store.setAside {
            let text =
                "the state file was damaged and is set aside as \(file); begun anew: ids and maps are forgotten"
            logger.warning("\(text)")
            events.log(.warning, "Store", text)
        }
        try restoreMaps()
        events.setOverride(try store.commit { try $0.levelOverride() })

        // The link does not keep its delegate alive.
        let listener = LinkListener(self)
        defer { withExtendedLifetime(listener) {} }
        let link = MQTTLink(configuration: linkConfiguration, delegate: listener)
        renewal.withLock { $0.link = link }
        defer { renewal.withLock { $0.link = nil } }
        await withTaskGroup(of: Void.self) { rooms in
            rooms.addTask { await self.journal.run() }
            rooms.addTask {
                await self.outbox.run(
                    publish: { link.publish(self.mirrored($0)) }, settle: { self.settled($0, $1) })
            }
            do {
                try self.recover()
            } catch {
                // The file was read a moment ago; what is unfinished stays there for the next start.
                self.logger.error("\(error)")
            }
            let chores = Task { await self.keepUp() }
            link.start()
            self.manager?.tell("READY=1", "STATUS=connecting")
            let running = Task { await self.dispatcher.run() }
            await self.untilShutdown()
            chores.cancel()
            await self.stop(link, running)
        }
    }

    /// Writes what happens in the router and the registry into the event log.
    func listen() -> [RegistrationHandle] {
        [
            router.observe { [events] in events.log($0) },
            router.services.observe { [events] in events.log($0) },
        ]
    }

    /// The link's settings, completed by what the protocol demands of an agent.
    private var linkConfiguration: MQTTLinkConfiguration {
        var link = configuration.link
        link.clientID = configuration.agent
        link.cleanStart = false
        link.inFlightLimit = configuration.limits.inFlight
        link.maximumPacketSize = UInt32(
            clamping: max(configuration.limits.mapBytes, configuration.limits.commandBytes) * 4)
        let echo = topics.echo(of: configuration.agent)
        link.subscriptions = topics.filters(of: configuration.agent, groups: configuration.groups).map {
            Subscription($0, qos: .atLeastOnce, noLocal: $0 != echo)
        }
        return link
    }

    private func restoreMaps() throws {
        if let refusal = try maps.restore(from: store) {
            logger.warning("the stored map does not fit this build and is left out: \(refusal.detail)")
            journal.report(
                FailureReport(
                    id: Identifier.ulid(at: clock.wall()), code: refusal.code, origin: .map,
                    detail: "stored map left out: \(refusal.detail)", at: clock.wall()))
        }
    }

    private func untilShutdown() async {
        let stream = AsyncStream<Void>.makeStream()
        await withGracefulShutdownHandler {
            await withTaskCancellationHandler {
                for await _ in stream.stream {}
            } onCancel: {
                stream.continuation.finish()
            }
        } onGracefulShutdown: {
            stream.continuation.finish()
        }
    }

    private func stop(_ link: MQTTLink, _ running: Task<Void, Never>) async {
        manager?.tell("STOPPING=1")
        let goodbye = presence.message(.shutdown)
        events.log(.info, "Agent", "stopping")
        dispatcher.stop()
        let limit = configuration.stopWithin
        await bounded(by: limit * 0.5) { await running.value }
        events.flush()
        await bounded(by: limit * 0.2) { await self.outbox.drained() }
        await link.stop(after: [goodbye], within: limit * 0.2)
        journal.close()
        outbox.close()
        updateMetrics()
        logger.notice("agent \(configuration.agent) stopped")
    }

    /// Waits for `work`, but no longer than `limit`; what is late goes on by itself.
    private func bounded(by limit: Duration, _ work: @escaping @Sendable () async -> Void) async {
        let done = AsyncStream<Void>.makeStream()
        Task {
            await work()
            done.continuation.finish()
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            done.continuation.finish()
        }
        for await _ in done.stream {}
        timer.cancel()
    }

    func settled(_ item: OutboxItem, _ result: PublishReceipt.Result) {
        switch item.origin {
        case .reply(let sequence):
            FaultPoint.beforeReplyAcknowledged.reached()
            journal.append(.replyAcknowledged(sequence: sequence))
        case .stored(let sequence): journal.append(.outboxAcknowledged(sequence: sequence))
        case .volatile: break
        }
        switch result {
        case .acknowledged, .lost: break
        case .refused(let code):
            health.update { $0.refusedPublishes += 1 }
            logger.error("the broker refused a message on \(item.message.topic): \(code)")
        case .rejected(let reason):
            health.update { $0.refusedPublishes += 1 }
            logger.error("a message on \(item.message.topic) can't be sent: \(reason)")
        }
    }
}
