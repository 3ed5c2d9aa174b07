/// Says whether the wall clock can be believed, so that deadlines given in its time can be.
struct ClockGuard: Sendable {
    /// No sound clock shows a time before this build: 2026-11-01, in milliseconds since 1970.
    static let buildDate: Int64 = 1_793_491_200_000
    /// A step of more than this against the monotonic clock is a fault until it has lasted, in milliseconds.
    static let maximumStep: Int64 = 60_000
    /// How long a stepped clock must go evenly before it is believed again, in milliseconds.
    static let recovery: Int64 = 60_000

    private var lastWall: Int64
    private var lastMonotonic: Int64
    private var distrustedSince: Int64?

    init(wall: Int64, monotonic: Int64) {
        lastWall = wall
        lastMonotonic = monotonic
    }

    /// Compares the two clocks; called at every use.
    mutating func isSound(wall: Int64, monotonic: Int64) -> Bool {
        let step = (wall - lastWall) - (monotonic - lastMonotonic)
        lastWall = wall
        lastMonotonic = monotonic
        if abs(step) > Self.maximumStep { distrustedSince = monotonic }
        if let since = distrustedSince, monotonic - since >= Self.recovery { distrustedSince = nil }
        return distrustedSince == nil && wall >= Self.buildDate
    }
}
