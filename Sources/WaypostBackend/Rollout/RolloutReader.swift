import Logging
import MQTTLink
import Waypost
package import WaypostMessages

/// Reads what the broker keeps of a group's roll-out.
package struct RolloutReader: Sendable {
    private let settings: BackendConfiguration
    private let group: String

    package init(_ settings: BackendConfiguration, group: String) {
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
    package func kept() async throws -> RolloutDirector.Kept {
        try await BackendSession.with(
            settings, required: [topics.rollout(of: group)], useful: Array(filters.dropFirst())
        ) { session in
            var kept = RolloutDirector.Kept()
            _ = try await session.readRetained(within: .seconds(5)) { note($0, in: &kept) }
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
    package func isRenewed(_ lease: RolloutLease, within limit: Duration) async throws -> Bool {
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
            try await RosterReader(settings).ask(group: group, spread: Self.spread, saw)
        } catch let error as BackendError where error.kind == .denied {
            settings.logger.notice("it is not known who is in @\(group): \(error)")
        }
    }

    // MARK: The status

    /// What the roll-out looks like; nil when there was none.
    package func status() async throws -> RolloutStatus? { try await kept().status(of: group) }

    /// Calls `changed` with the status, and again each time that it changes, until it returns false; over lost
    /// connections.
    ///
    /// - Throws: ``BackendError`` when there is no broker at first, or when it refuses to show it.
    package func follow(_ changed: (RolloutStatus?) -> Bool) async throws {
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
                try await Task.sleep(for: .seconds(1))
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
            _ = try await session.readRetained(within: .seconds(5)) { note($0, in: &kept) }
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

    /// The entries that the broker keeps.
    package func history() async throws -> RolloutHistory {
        try await BackendSession.with(settings, required: [topics.audits(of: group)]) { session in
            var payloads: [String: [UInt8]] = [:]
            _ = try await session.readRetained(within: .seconds(5)) { payloads[$0.topic] = $0.payload }
            if payloads.isEmpty { payloads = try await eachSlot(in: session) }
            return RolloutHistory(Array(payloads.values))
        }
    }

    /// Some brokers keep nothing for a filter with a wildcard.
    private func eachSlot(in session: BackendSession) async throws -> [String: [UInt8]] {
        for slot in 0..<RolloutAudit.ring {
            _ = await session.subscribe(topics.audit(of: group, slot: slot))
        }
        var payloads: [String: [UInt8]] = [:]
        _ = try await session.readRetained(within: .seconds(5)) { payloads[$0.topic] = $0.payload }
        return payloads
    }
}

extension RolloutDirector.Kept {
    /// What the controller says, as long as it speaks of the same document; else what the document alone says.
    package func status(of group: String) -> RolloutStatus? {
        guard let control else { return nil }
        let plain = RolloutStatus(control, group: group)
        guard let lease, let full = statusOfLease, full.id == control.id else { return plain }
        var status = full
        (status.state, status.stage, status.author, status.why, status.changed) = (
            plain.state, plain.stage, plain.author, plain.why, plain.changed
        )
        status.holder = lease.holder
        return status
    }

    private var statusOfLease: RolloutStatus? { lease?.status.flatMap { try? RolloutStatus($0) } }

    /// Whether the controller has changed the roll-out and has not said yet how it stands.
    fileprivate var isAheadOfLease: Bool {
        guard let control, let said = statusOfLease, said.id == control.id else { return false }
        return said.changed < control.at
    }
}
