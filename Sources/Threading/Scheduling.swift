/// Who decides which thread goes on, what time it is and what is drawn.
///
/// That is the system. A build for tests (`FAULT_POINTS`) may put another in its place, before the first thread is
/// started: threads are real ones then, of which one runs at a time, and the code above runs as it is.
package protocol Scheduler: AnyObject, Sendable {
    /// In nanoseconds; it only goes forward.
    func time() -> UInt64

    /// In milliseconds since 1970.
    func wallTime() -> Int64

    /// A number of which each bit is drawn.
    func random() -> UInt64

    /// The number of the calling thread.
    var thread: Int64 { get }

    /// The number of the process that the calling thread belongs to.
    var process: Int64 { get }

    /// How many processors there are.
    var processors: Int { get }

    /// Keeps the turn until ``letGo()`` was called as often.
    ///
    /// - Parameter passes: Whether others may go first, unless the calling thread holds its turn.
    func hold(passes: Bool)
    func letGo()

    /// A new thread, which runs what is returned.
    func thread(named name: String, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void

    /// Waits, while it holds its turn once for the lock that it has, until it is woken; true when it was not by that time
    /// of ``time()``.
    func wait(for condition: ObjectIdentifier, until time: UInt64) -> Bool

    /// Wakes one of those who wait for it.
    func wake(_ condition: ObjectIdentifier)
}

/// The places at which threads meet.
@usableFromInline package enum Scheduling {
    #if FAULT_POINTS
    // Safe because it is set before there is a second thread.
    @exclusivity(unchecked) private nonisolated(unsafe) static var other: (any Scheduler)?

    /// Nil where the system decides.
    static var scheduler: (any Scheduler)? { other }

    /// Puts one in the place of the system, once, before any thread of this target has been started.
    package static func begin(_ scheduler: any Scheduler) {
        precondition(other == nil, "there is one scheduler in a process")
        other = scheduler
    }
    #else
    /// Nil: the system decides.
    static var scheduler: (any Scheduler)? { nil }

    package static func begin(_ scheduler: any Scheduler) {
        preconditionFailure("only a build for tests has another scheduler than the system's")
    }
    #endif

    /// Whether the system decides, so that this process is one program, and not a world of many.
    package static var isOfSystem: Bool { scheduler == nil }

    /// A lock is taken after this.
    @usableFromInline static func willLock() { scheduler?.hold(passes: true) }

    /// A lock is free again.
    @usableFromInline static func didUnlock() { scheduler?.letGo() }

    /// Runs what the language's runtime calls, perhaps behind a lock of its own: no other thread may go first.
    @inlinable
    package static func undisturbed<Result>(_ body: () -> Result) -> Result {
        #if FAULT_POINTS
        hold()
        defer { didUnlock() }
        #endif
        return body()
    }

    @usableFromInline static func hold() { scheduler?.hold(passes: false) }
}

/// Chance of the system's.
package struct Chance: RandomNumberGenerator, Sendable {
    package init() {}

    package mutating func next() -> UInt64 {
        if let scheduler = Scheduling.scheduler { return scheduler.random() }
        var system = SystemRandomNumberGenerator()
        return system.next()
    }
}
