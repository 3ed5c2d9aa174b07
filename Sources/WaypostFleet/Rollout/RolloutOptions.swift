import Waypost
package import WaypostMessages

/// How a roll-out goes: its stages, how long they last, and what stops them.
public struct RolloutOptions: Sendable {
    /// The stages, each a share (`10%`) or a count (`5`) of agents.
    package var stages = RolloutStage.standard
    /// How long the stages last at least, a year at most; the last is for all further ones.
    public var dwells: [Duration] = [.seconds(300), .seconds(120)]
    /// How many times as long a stage may last that shows nothing, before the roll-out pauses: 1 to 1 000.
    public var patience: Int64 = 3
    /// Whether stages go on without any traffic on the URLs that the map changes.
    public var allowsNoTraffic = false
    /// The time over which agents spread their reports, a day at most; nil for 2 ms for each of them.
    public var spread: Duration?
    /// For how long agents do what they heard last, a day at most; nil for ever.
    public var hold: Duration? = .seconds(1_800)
    /// Whether agents then go back to the map before.
    public var revertsWhenSilent = false
    /// Agents that are always chosen, and never.
    public var include: [String] = []
    /// See ``include``.
    public var exclude: [String] = []
    /// The agents' own guard; nil for none.
    package var limit: RolloutControl.Guard? = .init()
    /// What may speak against the map: ``MapObjection/Kind/unchecked``, ``MapObjection/Kind/inactive``; nothing unless set.
    public var allowed: Set<MapObjection.Kind> = []
    /// How long a breach still takes a promoted map back.
    public var tail = Duration.seconds(3_600)
    /// How long the controller watches a roll-out that a gate has paused; nil as long as agents have the new map.
    ///
    /// As long as it watches, a breach that takes the map back takes it back.
    public var pauseLimit: Duration?
    /// Whether orders begin anew that no controller can have come to: agents whose newest document has the order that
    /// the broker keeps take the lower one.
    public var resetsOrder = false
    /// A file to which each entry of the audit is appended, too, a line each: the broker keeps the last 64 only, and may
    /// forget them.
    ///
    /// One for each group, made where there is none; nil for none.
    public var auditFile: String?
    /// How long the controller stays without a verdict after it lost its connection, in milliseconds.
    package var settling: Int64 = 30_000
    /// How long a roll-out stands still because of the network before it pauses, in milliseconds: an hour.
    package var standstill: Int64 = 3_600_000
    /// How long reports of the candidate may take beyond the spread, and how long an agent may be lost, in
    /// milliseconds.
    package var grace: Int64 = 60_000
    /// How often the lease is renewed, how long its echo may take, and how long it holds, in milliseconds.
    package var lease = Lease()

    /// The times of the lease.
    package struct Lease: Sendable {
        package var renewal: Int64 = 5_000
        package var echo: Int64 = 10_000
        package var timeToLive = RolloutLease.timeToLive
        /// How long the leases of others that begin at the same time are waited for before anything else is written.
        package var quiet: Int64 = 500
    }

    /// The e-value from which on the cohort fails more often than the others.
    var evidence = 1_000.0

    /// Five agents, 1 %, 10 %, 50 %, all.
    public init() {}

    /// How long a stage lasts at least, in milliseconds.
    package func dwell(of stage: Int) -> Int64 {
        dwells.isEmpty ? 0 : Self.within(Self.year, dwells[min(max(stage, 0), dwells.count - 1)])
    }

    /// How long a stage may last that shows nothing, in milliseconds.
    package func patience(of stage: Int) -> Int64 { dwell(of: stage) * min(max(patience, 1), 1_000) }

    /// The time over which so many agents spread their reports, in milliseconds.
    package func spread(among count: Int) -> Int64 {
        spread.map { Self.within(RolloutControl.longest, $0) } ?? Int64(2 * count)
    }

    /// For how long agents do what they heard last, in milliseconds; nil for ever.
    package var heldFor: Int64? { hold.map { max(1, Self.within(RolloutControl.longest, $0)) } }

    private static let year: Int64 = 31_536_000_000

    private static func within(_ limit: Int64, _ time: Duration) -> Int64 {
        min(max(0, time.milliseconds), limit)
    }
}
