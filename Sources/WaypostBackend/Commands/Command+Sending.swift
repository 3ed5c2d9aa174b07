import Threading
import Waypost
package import WaypostMessages

extension Command {
    /// A new command that an operator sends.
    ///
    /// One that only looks, or ends another, carries no times, so that an agent whose clock is wrong takes it too.
    ///
    /// - Parameters:
    ///   - schedule: when it may begin.
    ///   - timeToLive: in the place of the times, in milliseconds.
    ///   - isTimed: whether it carries the times in any case.
    package init(
        sending operation: Operation, id: String? = nil, lifetime: Int64 = defaultLifetime,
        timeToLive: Int64? = nil, lane: String = defaultLane, schedule: CommandSchedule? = nil,
        isTimed: Bool = false
    ) {
        let now = WallClock.now()
        let isTimed = timeToLive == nil && (isTimed || !operation.needsNoTime)
        self.init(
            id: id ?? Identifier.ulid(at: now), operation: operation, at: isTimed ? now : nil,
            expires: now + (timeToLive ?? lifetime), hasAbsoluteExpiry: isTimed, timeToLive: timeToLive,
            lane: lane, schedule: schedule)
    }
}

extension Command {
    /// Whether it begins only at some time, or at some clients: an older agent would run it in any case.
    var isConditional: Bool { schedule != nil || when != nil }
}

extension Command.Operation {
    /// Whether it does no harm when it arrives late: it changes nothing but what is shown, or ends one command.
    var needsNoTime: Bool {
        switch self {
        case .ping, .failures, .inspect, .log, .maps, .replay, .resolve, .cancel: true
        case .open, .call, .navigate: false
        }
    }
}
