import CMemory
import Logging
import MQTTLink
import Threading
import Waypost
package import WaypostFleet
import WaypostMessages

/// Steers a roll-out: reads, lets ``RolloutDirector`` decide, and publishes; it has no state of its own.
package struct RolloutController: Sendable {
    /// How often decisions are made.
    private static let tick = Duration.milliseconds(200)
    static let byteLimit = BackendSession.fleetByteLimit

    private var settings: BackendConfiguration
    let group: String
    var options: RolloutOptions
    /// Entries without effect that the plan foretold; nil without a plan.
    var foreseen: Set<Int>?
    /// Gets what the roll-out looks like, each time that this differs.
    let observe: @isolated(any) @Sendable (RolloutStatus) -> Void

    package init(
        _ settings: BackendConfiguration, group: String, _ options: RolloutOptions, foreseen: Set<Int>? = nil,
        observe: @escaping @isolated(any) @Sendable (RolloutStatus) -> Void = { _ in }
    ) {
        (self.settings, self.group, self.options) = (settings, group, options)
        (self.foreseen, self.observe) = (foreseen, observe)
    }

    private var topics: Topics { settings.topics }

    private static var now: Int64 { Int64(clamping: MonotonicTime.now / 1_000_000) }

    /// Steers until the roll-out ends, pauses, or another controller takes it over.
    ///
    /// - Throws: ``BackendError`` when it can't begin; `CancellationError` when the task is cancelled: the roll-out
    ///   then stays as it is.
    /// - Returns: How it ended; what the file of the audit lacks then, the last status that is observed says.
    package func run(_ order: RolloutDirector.Order) async throws -> RolloutOutcome {
        let record = try options.audit()
        let kept = try await RolloutReader(settings, group: group).kept()
        if order.waitsForLease, let lease = kept.lease { try await checkLease(lease) }
        guard settings.shared == nil else { return try await run(order, from: kept, record) }
        // What canaries are asked meanwhile goes over the same connection.
        let will = MQTTMessage(topic: topics.lease(of: group), payload: [], retain: true)
        return try await SharedLink.with(settings, will: will) { shared in
            var controller = self
            controller.settings = shared
            return try await controller.run(order, from: kept, record)
        }
    }

    private func run(
        _ order: RolloutDirector.Order, from kept: RolloutDirector.Kept, _ record: RolloutAuditFile?
    ) async throws -> RolloutOutcome {
        var salt = kept.control?.salt ?? ""
        if case .start(let id, _, _) = order { salt = id }
        var record = record
        let known = record?.payloads ?? []
        var director = director(salt, knowing: known)
        var session = try await connect()
        do {
            try await begin(order, &director, &record, in: session)
            while director.outcome == nil {
                do {
                    try await steer(&director, &record, in: session)
                } catch let error as BackendError where error.kind == .noBroker || error.kind == .notSent {
                    settings.logger.warning("\(error)")
                    director.disconnected(at: Self.now)
                    await session.close()
                    session = try await reconnect(&director, &record)
                    director.reconnected(at: Self.now)
                }
                guard director.isOvertaken, director.outcome == nil else { continue }
                var next = self.director(salt, knowing: known)
                await session.close()
                session = try await connect()
                try await begin(order, &next, &record, in: session)
                director = next
            }
        } catch {
            // Release the lease in a separate task: it must go out even when ours is cancelled.
            let (open, release) = (session, director.release)
            await Task { await Self.leave(open, release) }.value
            throw error
        }
        await Self.leave(session, director.release)
        keep([], in: &record, &director)
        if let status = director.status(at: Self.now) { await observe(status) }
        return director.outcome ?? .done
    }

    /// - Parameter entries: Those of the audit that its file had at first.
    private func director(_ salt: String, knowing entries: [[UInt8]]) -> RolloutDirector {
        let now = Self.now
        var director = RolloutDirector(
            group: group, salt: salt, topics: topics, options: options,
            holder: .init(name: settings.name, nonce: Identifier.short()),
            wallOffset: WallClock.now() - now, at: now)
        (director.foreseen, director.signer) = (foreseen, settings.signer)
        // A broker that forgot the entries must not have them counted from 1 again.
        for payload in entries { director.trail.saw(payload) }
        return director
    }

    private func begin(
        _ order: RolloutDirector.Order, _ director: inout RolloutDirector, _ record: inout RolloutAuditFile?,
        in session: BackendSession
    ) async throws {
        let entries = try await read(&director, in: session)
        try record?.begin(with: entries)
        try director.begin(order, at: Self.now)
    }

    private static func leave(_ session: BackendSession, _ release: MQTTMessage?) async {
        if let release { try? await session.publish(release) }
        await session.close()
    }

    // MARK: The connection

    /// Without these it can't be steered.
    private var required: [String] {
        [
            topics.map(of: .group(group)), topics.candidate(of: group), topics.rollout(of: group),
            topics.lease(of: group),
        ]
    }

    private func connect() async throws -> BackendSession {
        try await BackendSession.connect(settings, required: required, byteLimit: Self.byteLimit)
    }

    /// Until there is a broker again and all that it keeps was read, or the task is cancelled.
    private func reconnect(
        _ director: inout RolloutDirector, _ record: inout RolloutAuditFile?
    ) async throws -> BackendSession {
        while true {
            try await MonotonicTime.sleep(for: .milliseconds(500))
            do {
                let session = try await connect()
                keep(try await read(&director, in: session), in: &record, &director)
                return session
            } catch let error as BackendError where error.kind == .noBroker {
                continue
            }
        }
    }

    /// - Returns: The entries of the audit.
    private func read(_ director: inout RolloutDirector, in session: BackendSession) async throws -> [[UInt8]]
    {
        let reader = RolloutReader(settings, group: group)
        var entries: [[UInt8]] = []
        var isPresenceKept = false
        func saw(_ message: MQTTMessage) {
            director.saw(message, at: Self.now)
            if isAudit(message) { entries.append(message.payload) }
            if reader.isKeptState(message) { isPresenceKept = true }
        }
        let useful = RolloutDirector.filters(of: group, topics).filter { !required.contains($0) }
        try await session.readRetained(of: useful, saw)
        if entries.isEmpty, director.kept.control?.entry != nil {
            try await reader.subscribeToEachEntry(in: session)
            try await session.readRetained(saw)
        }
        if !isPresenceKept { try await reader.ask { director.saw($0, at: Self.now) } }
        // All that the fleet says of itself was read, perhaps twice, and the most of it is not needed to steer.
        waypost_release_heap()
        return entries
    }

    private func isAudit(_ message: MQTTMessage) -> Bool {
        message.topic.hasPrefix(topics.rollout(of: group) + "/log/")
    }

    /// A full disk must not stop what protects the fleet: that is said, and the entries are written with the next one.
    private func keep(
        _ entries: [[UInt8]], in record: inout RolloutAuditFile?, _ director: inout RolloutDirector
    ) {
        let fault = record?.keep(entries)
        if let fault, director.unkept == nil { settings.logger.warning("\(fault)") }
        director.auditIsUnkept(fault.map { "the file of the audit lacks entries: \($0)" }, at: Self.now)
    }

    /// A lease whose holder is gone is not renewed.
    private func checkLease(_ lease: RolloutLease) async throws {
        let isAlive = try await RolloutReader(settings, group: group).isRenewed(
            lease, within: .milliseconds(lease.timeToLive))
        guard !isAlive else {
            throw BackendError(
                .notSent,
                "\(lease.holder) steers the roll-out of @\(group)\(shell: "; see: waypost rollout watch --group \(group)")"
            )
        }
    }

    // MARK: Steering

    /// Until the roll-out ends or the connection does, or it must begin anew.
    private func steer(
        _ director: inout RolloutDirector, _ record: inout RolloutAuditFile?, in session: BackendSession
    ) async throws {
        let answers = CanaryAnswers()
        var last = Self.now
        var shown: (status: RolloutStatus, at: Int64)?
        let dropped = session.loss.dropped
        var alarm = session.alarm(after: Self.tick)
        defer { alarm.cancel() }
        while director.outcome == nil, !director.isOvertaken {
            if case .message(let message) = try await session.next() {
                director.saw(message, at: Self.now)
                // Not only when nothing comes: ten thousand agents say something all the time.
                guard Self.now - last >= Self.tick.milliseconds else { continue }
            } else {
                alarm = session.alarm(after: Self.tick)
            }
            guard session.loss.dropped == dropped else {
                throw BackendError(.noBroker, "messages came faster than they were read; reading all again")
            }
            if let found = answers.take() { director.resolved(found) }
            last = Self.now
            director.advance(to: last)
            if let end = director.takeEndOfStage() { await observe(end) }
            try await perform(&director, &record, in: session, answers)
            guard director.isConnected else {
                throw BackendError(.noBroker, "the broker does not send back what the controller publishes")
            }
            if let status = director.publishedStatus(at: last), status.isNews(after: shown, at: last) {
                shown = (status, last)
                await observe(status)
            }
        }
    }

    private func perform(
        _ director: inout RolloutDirector, _ record: inout RolloutAuditFile?, in session: BackendSession,
        _ answers: CanaryAnswers
    ) async throws {
        while let step = director.nextStep() {
            switch step {
            case .publish(let message):
                try await session.publish(message)
                if isAudit(message) { keep([message.payload], in: &record, &director) }
            case .ask(let agents):
                guard let next = director.next else { break }
                let canary = RolloutCanary(
                    settings: settings, group: group, next: next, base: director.base)
                Task { answers.came(await canary.answers(of: agents)) }
            }
            director.done(step, at: Self.now)
        }
    }
}

extension RolloutDirector.Order {
    /// Whether it must not take the lease from one who is there.
    fileprivate var waitsForLease: Bool {
        switch self {
        case .start, .resume: true
        case .pause, .advance, .takeBack, .promote: false
        }
    }
}

/// The canaries' answers until the controller reads them.
private final class CanaryAnswers: Sendable {
    private let answers = Guarded<[CanaryAnswer]?>(nil)

    func came(_ list: [CanaryAnswer]) { answers.withLock { $0 = list } }

    func take() -> [CanaryAnswer]? {
        answers.withLock { list in
            defer { list = nil }
            return list
        }
    }
}

extension RolloutStatus {
    /// Whether it is to be shown after another one: a change of the state at once, numbers once a second.
    fileprivate func isNews(after shown: (status: RolloutStatus, at: Int64)?, at now: Int64) -> Bool {
        guard let shown else { return true }
        if (state, stage, why) != (shown.status.state, shown.status.stage, shown.status.why) { return true }
        return now - shown.at >= 1_000 && self != shown.status
    }
}
