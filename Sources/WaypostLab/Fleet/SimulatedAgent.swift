/// What of a simulated agent is its own; all it has in common with others is elsewhere, so that it stays small.
struct SimulatedAgent: Sendable {
    /// Those in force.
    var maps: SimulatedMaps
    /// The same without the candidates of roll-outs.
    var base: SimulatedMaps
    var fault: SimulatedFault?
    /// Which of several forms of its fault it has.
    var variant: UInt8
    var isOnline = false
    /// Whether a message came to it, and not to a group.
    var hasOwnMap = false
    /// Of its last connection.
    var epoch: Int64 = 0
    var connects: UInt32 = 0
    /// When its process began, in milliseconds since 1970 by the clock of the fleet.
    var started: Int64 = 0
    /// When health is published next; an earlier entry of the schedule does not count.
    var healthDue: Int64 = 0
    /// Of the last event.
    var sequence: UInt32 = 0
    /// Opens by how they ended.
    var opened: UInt32 = 0
    var unopened: UInt32 = 0
    var chance: SeededChance

    init(_ maps: SimulatedMaps, _ fault: SimulatedFault?, chance: SeededChance) {
        self.maps = maps
        base = maps
        self.fault = fault
        self.chance = chance
        variant = UInt8.random(in: 0...255, using: &self.chance)
    }

    /// Whether it does something with what comes.
    var isReachable: Bool { isOnline && fault != .silent }

    /// Whether it shows a time before the day of the build, and knows it.
    var knowsItsClockIsWrong: Bool { fault == .wrongClock && variant % 2 == 0 }

    /// The agent's own clock, in milliseconds since 1970.
    func clock(at now: Int64) -> Int64 {
        guard fault == .wrongClock else { return now }
        // It begins in 1970, as one without a battery does, or goes 47 minutes fast.
        return knowsItsClockIsWrong ? now - started + 3_600_000 : now + 47 * 60_000
    }
}

/// Chance that comes out alike for the same seed: SplitMix64.
struct SeededChance: RandomNumberGenerator, Sendable {
    private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

    private var state: UInt64

    /// - Parameter stream: those of different streams have nothing to do with each other.
    init(seed: UInt64, stream: UInt64) {
        state = seed
        state = next() ^ (stream &* Self.step)
        _ = next()
    }

    mutating func next() -> UInt64 {
        state &+= Self.step
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// What may be wrong with a simulated agent.
package enum SimulatedFault: String, CaseIterable, Sendable {
    /// It is lost soon after it came, and does not come back.
    case lost
    /// One of its health checks failed.
    case red
    /// It refused the map of its group.
    case mapRefused = "map-refused"
    /// It comes and goes.
    case flapping
    case wrongClock = "wrong-clock"
    /// It is online and answers nothing.
    case silent
    /// It opens a URL that no route matches.
    case notFound = "not-found"
    /// Its version does not know the newer commands, and has a route less.
    case oldVersion = "old-version"
}
