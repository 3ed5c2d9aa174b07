/// Chance of the system's.
package struct Chance: RandomNumberGenerator, Sendable {
    package init() {}

    package mutating func next() -> UInt64 {
        if let scheduler = Scheduling.scheduler { return scheduler.random() }
        var system = SystemRandomNumberGenerator()
        return system.next()
    }
}
