import Logging
import MQTTLink
import Threading
import Waypost
import WaypostFleet
import WaypostMessages

/// Reads what the broker keeps of a group's roll-out.
struct RolloutReader: Sendable {
    private let settings: BackendConfiguration
    private let group: String

    init(_ settings: BackendConfiguration, group: String) {
        (self.settings, self.group) = (settings, group)
    }

    private var topics: Topics { settings.topics }

    private var filters: [String] {
        [
            topics.rollout(of: group), topics.lease(of: group), topics.map(of: .group(group)),
            topics.candidate(of: group),
        ]
    }

    /// The documents that are kept.
    ///
    /// - Throws: ``BackendError`` when there is no broker, or when it refuses to show them.
    func kept() async throws -> RolloutDirector.Kept {
        try await BackendSession.with(
            settings, required: [topics.rollout(of: group)], useful: Array(filters.dropFirst())
        ) { session in
            var kept = RolloutDirector.Kept()
            try await session.readRetained { note($0, in: &kept) }
            return kept
        }
    }

    private func note(_ message: MQTTMessage, in kept: inout RolloutDirector.Kept) {
        switch message.topic {
        case topics.map(of: .group(group)): kept.base = .init(message.payload)
        case topics.candidate(of: group): kept.candidate = .init(message.payload)
        case topics.rollout(of: group): kept.control = try? RolloutControl(message.payload)
        case topics.lease(of: group): kept.lease = message.json.flatMap { try? RolloutLease($0) }
        default: break
        }
    }

    /// Whether a lease is renewed within the time, or another one comes.
    func isRenewed(_ lease: RolloutLease, within limit: Duration) async throws -> Bool {
        try await BackendSession.with(settings, required: [topics.lease(of: group)]) { session in
            let alarm = session.alarm(after: limit)
            defer { alarm.cancel() }
            while case .message(let message) = try await session.next() {
                // What the broker keeps was there before.
                guard !message.retain else { continue }
                return !message.payload.isEmpty
            }
            return false
        }
    }

    // MARK: Who is there

    /// Whether the broker has kept that message to say who is there.
    func isKeptState(_ message: MQTTMessage) -> Bool {
        if message.retain, case (_, .state)? = topics.outbound(message.topic) { true } else { false }
    }

    /// Over how many milliseconds agents spread their answers.
    private static let spread: Int64 = 2_000

    /// Asks the group's agents who is there, for a broker that sends no retained messages to a subscription with a
    /// wildcard.
    func ask(_ saw: (MQTTMessage) -> Void) async throws {
        do {
            try await settings.ask(group: group, spread: Self.spread, saw)
        } catch let error as BackendError where error.kind == .denied {
            settings.logger.notice("it is not known who is in @\(group): \(error)")
        }
    }

    // MARK: The status

    /// What the roll-out looks like; nil when there was none.
    func status() async throws -> RolloutStatus? {
        guard var status = try await kept().status(of: group) else { return try await remembered() }
        // One that steers looks by itself.
        if status.holder == nil { status.notices += try await faultsOfAudit() }
        return status
    }

    private func faultsOfAudit() async throws -> [String] {
        do {
            return try await history().faults
        } catch let error as BackendError where error.kind == .denied {
            return ["the audit can't be read: \(error)"]
        }
    }

    /// What agents say of a roll-out that the broker has forgotten; nil when none has a candidate in force.
    private func remembered() async throws -> RolloutStatus? {
        var fleet = RolloutFleet(group: group, salt: "", topics: topics)
        var reading = RetainedReading.whole
        let filters = [topics.map(of: .group(group))] + RolloutFleet.filters(topics).dropLast()
        let map = try await BackendSession.with(
            settings, required: [topics.rollout(of: group)], byteLimit: RolloutController.byteLimit
        ) { session in
            var map: RolloutDirector.Document?
            reading = try await session.readAsMuch(of: filters, within: .seconds(30)) { message in
                if message.topic == topics.map(of: .group(group)) { map = .init(message.payload) }
                _ = fleet.saw(message.seen, of: nil, at: 0)
            }
            return map
        }
        // One that was promoted is over.
        guard let rollout = fleet.memory?.rollout, rollout.next.digest != map?.id.digest else { return nil }
        var status = RolloutStatus(id: rollout.id, group: group, state: "forgotten")
        (status.base, status.next) = (map?.id.revision, rollout.next.revision)
        (status.online, status.onNext) = (fleet.counts.online, fleet.counts.onNext)
        status.notices = [
            "the broker keeps no control document; \(fleet.counts.onNext.counted("agent")) say to have the map in force; "
                + "taking it back has them go back"
        ]
        status.notices += [reading.fault].compactMap(\.self)
        return status
    }

    /// Calls `changed` with the status, and again each time that it changes, until it returns false; over lost
    /// connections.
    ///
    /// - Throws: ``BackendError`` when there is no broker at first, or when it refuses to show it.
    func follow(_ changed: (RolloutStatus?) -> Bool) async throws {
        var shown: RolloutStatus?
        var (hasBegun, isLost) = (false, false)
        while true {
            do {
                return try await follow(from: &shown) { status in
                    (hasBegun, isLost) = (true, false)
                    return changed(status)
                }
            } catch let error as BackendError where error.kind == .noBroker && hasBegun {
                if !isLost { settings.logger.warning("\(error)") }
                isLost = true
                try await MonotonicTime.sleep(for: .seconds(1))
            }
        }
    }

    /// As long as there is a connection.
    private func follow(
        from shown: inout RolloutStatus?, _ changed: (RolloutStatus?) -> Bool
    ) async throws {
        try await BackendSession.with(
            settings, required: [topics.rollout(of: group)], useful: [topics.lease(of: group)]
        ) { session in
            var kept = RolloutDirector.Kept()
            try await session.readRetained { note($0, in: &kept) }
            let first = kept.status(of: group)
            // A broker that has forgotten it gets it again from the controller.
            if shown == nil || (first != nil && first != shown) {
                shown = first
                guard changed(first) else { return }
            }
            while case .message(let message) = try await session.next() {
                note(message, in: &kept)
                // Its numbers follow at once.
                guard !kept.isAheadOfLease else { continue }
                let status = kept.status(of: group)
                guard status != shown else { continue }
                shown = status
                guard changed(status) else { return }
            }
        }
    }

    // MARK: The audit

    /// How often the entries are read again when a controller writes meanwhile.
    private static let readings = 3
    /// How long a controller may take from a document to its entry.
    private static let pauseOfReading = Duration.milliseconds(200)

    /// What the broker keeps of the audit, with the document that says where it ends.
    private struct KeptAudit: Hashable {
        var slots: [Int64: [UInt8]] = [:]
        var control: RolloutControl?

        var history: RolloutHistory { RolloutHistory(Array(slots.values), endingWith: control) }
    }

    /// The entries that the broker keeps.
    ///
    /// A controller may write meanwhile, a document first and then its entry: a fault is one only when the same
    /// entries have it again.
    func history() async throws -> RolloutHistory {
        try await BackendSession.with(
            settings, required: [topics.audits(of: group), topics.rollout(of: group)]
        ) { session in
            var kept = KeptAudit()
            try await read(&kept, in: session)
            if kept.slots.isEmpty {
                try await subscribeToEachEntry(in: session)
                try await read(&kept, in: session)
            }
            var history = kept.history
            for _ in 0..<Self.readings where !history.isWhole {
                // What was written meanwhile is on its way, or has come; the broker sends the rest anew.
                let known = kept
                try await MonotonicTime.sleep(for: Self.pauseOfReading)
                for filter in [topics.audits(of: group), topics.rollout(of: group)] {
                    _ = try await session.subscribe(filter)
                }
                try await read(&kept, in: session)
                history = kept.history
                if kept == known { break }
            }
            return history
        }
    }

    /// For brokers that send nothing that they keep to a subscription with a wildcard.
    func subscribeToEachEntry(in session: BackendSession) async throws {
        for slot in 0..<RolloutAudit.ring {
            _ = try await session.subscribe(topics.audit(of: group, slot: slot))
        }
    }

    /// What comes on other topics is no entry: on a connection that is shared that may be a reply to another call.
    private func read(_ kept: inout KeptAudit, in session: BackendSession) async throws {
        try await session.readRetained { message in
            switch topics.rollout(message.topic) {
            case (group, .audit(let slot))?: kept.slots[slot] = message.payload
            case (group, .control)?: kept.control = try? RolloutControl(message.payload)
            default: break
            }
        }
    }
}

extension RolloutDirector.Kept {
    /// The roll-out that must end before another one begins; nil when there is none.
    ///
    /// One that no controller steers and whose map lies where it is to be has done all that it can: only some agent has not
    /// said so, and a new roll-out must not wait for that one.
    var unfinished: RolloutControl? {
        guard let control, !control.state.isOver else { return nil }
        let map: RolloutControl.MapID? =
            switch control.state {
            case .takingBack: control.base
            case .promoting: control.next
            default: nil
            }
        return map != nil && lease == nil && base?.id.digest == map?.digest ? nil : control
    }

    func status(of group: String) -> RolloutStatus? {
        control.map { RolloutStatus($0, lease, of: group) }
    }

    /// Whether the controller has changed the roll-out and has not said yet how it stands.
    fileprivate var isAheadOfLease: Bool {
        guard let control, let said = lease?.rolloutStatus, said.id == control.id else { return false }
        return said.changed < control.at
    }
}
