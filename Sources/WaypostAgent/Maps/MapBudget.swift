import MQTTLink
import WaypostMessages

/// How many documents are read: a rate for each layer, because no topic names the sender of a document.
///
/// A map that comes too fast is postponed, only the newest of its layer: the broker keeps that one too. A patch is
/// not, because the next one builds on it; its sender learns that and sends it again.
struct MapBudget: Sendable {
    /// A map that must be read later.
    struct Postponed: Sendable {
        var message: MQTTMessage
        var key: String
        var audience: Audience
    }

    /// What becomes of a document that came.
    enum Decision: Sendable {
        case read
        /// It came too fast; that is reported now.
        case report
        /// It came too fast, and that was reported a short time ago: it is only counted.
        case skip
    }

    /// How often it is reported that documents come too fast, in milliseconds.
    private static let reportInterval: Int64 = 10_000

    private let rate: Int
    private var buckets: [String: TokenBucket] = [:]
    private var postponed: [String: Postponed] = [:]
    private var reported: [String: Int64] = [:]

    /// - Parameter rate: documents a second for each layer, five times as many at once; 0 is no limit.
    init(rate: Int) { self.rate = rate }

    /// A document came in a layer; `map` is what may be postponed.
    mutating func documentCame(_ map: Postponed?, on key: String, at now: Int64) -> Decision {
        guard !takeToken(key, at: now) else {
            postponed[key] = nil
            return .read
        }
        if let map { postpone(map) }
        if let last = reported[key], now - last < Self.reportInterval { return .skip }
        reported[key] = now
        return .report
    }

    /// A document was checked, which took so many per cent of what one may take.
    ///
    /// One that takes all of it counts as those of a second do.
    mutating func checked(_ key: String, effort: Int) { buckets[key]?.owe(rate * effort / 100) }

    /// A document that was read could not be stored.
    mutating func refund(_ key: String) { buckets[key]?.refund() }

    mutating func postpone(_ map: Postponed) { postponed[map.key] = map }

    /// The postponed maps for which there is time now.
    ///
    /// They go through ``documentCame(_:on:at:)`` as if they came again.
    mutating func takePostponed(at now: Int64) -> [Postponed] {
        guard !postponed.isEmpty else { return [] }
        let due = postponed.values.filter { refill($0.key, at: now) }.sorted { $0.key < $1.key }
        for map in due { postponed[map.key] = nil }
        return due
    }

    /// Puts in what has come meanwhile; false when that is no token.
    private mutating func refill(_ key: String, at now: Int64) -> Bool {
        guard takeToken(key, at: now) else { return false }
        refund(key)
        return true
    }

    private mutating func takeToken(_ key: String, at now: Int64) -> Bool {
        buckets[key, default: TokenBucket(rate: rate, burst: 5 * rate, at: now)].take(at: now)
    }
}
