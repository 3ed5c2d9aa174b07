import Waypost
import WaypostMessages

/// What becomes of a map in force whose `exp` passes.
public enum MapExpiry: String, Sendable, Hashable, CaseIterable {
    /// It stays; health turns red and the end is reported every hour.
    case keep
    /// It is left out until a new one comes; health turns red and the end is reported every hour.
    case revert
}

extension MapRoom {
    /// A layer whose time is over.
    struct Expired: Sendable, Hashable {
        var layer: String
        var revision: Int64?
        /// Milliseconds since 1970.
        var expires: Int64
    }

    /// How often the end of a map is reported, in milliseconds.
    private static let reportInterval: Int64 = 3_600_000

    /// The layers whose time is over.
    func expired(at now: Int64) -> [Expired] { state.withLock { expired($0, at: now) } }

    /// Leaves out what is over, where that is wanted, and names what is to be reported now.
    ///
    /// - Returns: those to report, and whether another map is in force than before.
    func lookAtTheClock(wall now: Int64, monotonic: Int64) -> (due: [Expired], isChanged: Bool) {
        state.withLock { state in
            let over = expired(state, at: now)
            let due = over.filter {
                monotonic - (state.reported[$0.layer] ?? .min / 2) >= Self.reportInterval
            }
            for layer in due { state.reported[layer.layer] = monotonic }
            let reverted = expiry == .revert ? Set(over.map(\.layer)) : []
            guard reverted != state.reverted else { return (due, false) }
            var next = state
            next.reverted = reverted
            // Fewer layers of a map that compiled: that they do not is a map in force that stays.
            guard let applied = try? put(next.records, next) else { return (due, false) }
            next.applied = applied
            state = next
            return (due, true)
        }
    }

    private func expired(_ state: State, at now: Int64) -> [Expired] {
        state.records.values.compactMap { record in
            guard let expires = record.expires, expires <= now else { return nil }
            return Expired(layer: record.layer, revision: record.revision, expires: expires)
        }.sorted { $0.layer < $1.layer }
    }
}
