/// What may be wrong with a simulated agent.
enum SimulatedFault: String, CaseIterable, Sendable {
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
