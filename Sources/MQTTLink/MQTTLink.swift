import Threading

/// A link to an MQTT broker that comes back by itself.
///
/// A thread of its own does all the work and calls the delegate. What arrives in one turn is handed over as a
/// batch, and only when the delegate has taken it do its acknowledgements leave: so a batch can be made durable
/// with one write to the disk.
///
///     let link = MQTTLink(configuration: configuration, delegate: agent)
///     link.start()
///     link.publish([OutgoingMessage(token: 1, message: message)])
///     await link.stop(after: [goodbye], within: .seconds(5))
public final class MQTTLink: Sendable {
    private enum Phase: Sendable {
        case new
        case running
        /// It has ended, or was asked to.
        case stopped
    }

    private let configuration: MQTTLinkConfiguration
    private let mailbox: Mailbox
    private let phase = Guarded(Phase.new)
    private let end = OneShotEvent()
    private let delegate: DelegateReference

    /// A link that is not started yet.
    ///
    /// The configuration names at least one broker. The delegate is not kept alive by the link.
    public init(configuration: MQTTLinkConfiguration, delegate: any MQTTLinkDelegate) {
        precondition(!configuration.brokers.isEmpty, "a link needs a broker")
        self.configuration = configuration
        self.delegate = DelegateReference(delegate)
        mailbox = Mailbox(limit: configuration.queueLimit, byteLimit: configuration.queueByteLimit)
    }

    deinit {
        // There is no one to wait for a goodbye. The thread ends by itself; the broker sends the will, as it should.
        guard case .running = phase.withLock({ $0 }) else { return }
        mailbox.post(.abandon)
    }

    /// Begins to connect; once.
    ///
    /// If the system has no thread for it, `linkDidDisconnect` is called before this returns.
    public func start() { start(on: nil) }

    /// Begins to connect; once.
    ///
    /// - Parameter thread: One that it shares with other links; nil for one of its own.
    package func start(on thread: LinkThread?) {
        phase.withLock { phase in
            guard case .new = phase, let delegate = delegate.value else { return }
            let (configuration, mailbox, end) = (configuration, mailbox, end)
            let reference = self.delegate
            let make: @Sendable (PeekBuffer) -> LinkLoop? = { buffer in
                guard let delegate = reference.value else {
                    end.fire()
                    return nil
                }
                return LinkLoop(configuration, mailbox, delegate, buffer) { end.fire() }
            }
            let failure =
                if let thread {
                    thread.add(make)
                } else {
                    PlainThread.start(name: LinkLoop.threadName) { make(PeekBuffer())?.run() }
                }
            phase = .running
            guard let failure else { return }
            phase = .stopped
            end.fire()
            delegate.linkDidDisconnect(
                DisconnectReason(
                    cause: .system(failure), stage: .connecting, broker: configuration.brokers[0]))
        }
    }

    /// Publishes messages, in this order, from any thread.
    ///
    /// Each gets exactly one receipt through `link(settled:)`: while there is no connection that is `.lost`, at
    /// once. After `stop` has returned there are none.
    public func publish(_ messages: [OutgoingMessage]) {
        mailbox.publish(messages)
    }

    /// Subscribes beyond the configuration's subscriptions, now and on every later connect.
    ///
    /// Returns the broker's answers in order, or `nil` when there was no connection or no answer in time.
    /// - Throws: `CancellationError` when the task is cancelled; then it may be subscribed to.
    public func subscribe(
        _ subscriptions: [Subscription]
    ) async throws(CancellationError) -> [SubscriptionResult]? {
        let answer = Promise<[SubscriptionResult]?>()
        guard mailbox.post(.subscribe(subscriptions) { answer.fulfill($0) }) else { return nil }
        return try await answer.value()
    }

    /// Gives up filters that were subscribed to with ``subscribe(_:)``; messages that are on their way may still come.
    public func unsubscribe(_ filters: [String]) {
        mailbox.post(.unsubscribe(filters))
    }

    /// Connects again, with other credentials and certificates, or with the same files read again.
    ///
    /// A connection that is there is given up without a goodbye; a session that the broker keeps goes on.
    public func renew(credentials: Credentials?, tls: TLSOptions?) {
        mailbox.post(.renew(credentials, tls))
    }

    /// Gives up memory that was only needed while there was more to do; for a pause.
    public func releaseMemory() {
        mailbox.post(.releaseMemory)
    }

    /// Ends the link for good: publishes the goodbyes behind what waits, waits for their acknowledgements, and says
    /// DISCONNECT, so that the will is not sent.
    ///
    /// Returns when the link has ended. What is not through within the limit is `.lost`, and then the will may
    /// be sent after all. A task that is cancelled waits too: a stop is what it still has to do.
    public func stop(after goodbyes: [MQTTMessage] = [], within limit: Duration = .seconds(5)) async {
        let before = phase.withLock { phase in
            defer { phase = .stopped }
            return phase
        }
        switch before {
        case .new: end.fire()
        case .running: mailbox.post(.stop(goodbyes: goodbyes, within: limit))
        case .stopped: break
        }
        await end.wait()
    }
}

extension MQTTLink: MessageLink {}

/// A weak reference that may cross threads.
private final class DelegateReference: Sendable {
    private struct Weak: Sendable {
        weak var value: (any MQTTLinkDelegate)?
    }

    private let reference: Guarded<Weak>

    init(_ delegate: any MQTTLinkDelegate) { reference = Guarded(Weak(value: delegate)) }

    var value: (any MQTTLinkDelegate)? { reference.withLock { $0.value } }
}
