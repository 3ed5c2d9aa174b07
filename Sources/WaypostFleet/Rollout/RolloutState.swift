package import WaypostMessages

/// Where a controller is with its roll-out.
///
/// Its functions are named for what happened; they say what is to be done, and the director does it.
package enum RolloutState: Sendable, Hashable {
    /// What the broker keeps is being read.
    case reading
    /// Stages go on as long as the gates pass.
    case steering
    /// It is to be decided on; the gates go on while agents have the new map.
    case paused(Pause)
    /// The new map comes in the place of the old one; nothing of it was published before `isPublished`.
    case promoting(since: Int64, isPublished: Bool)
    /// Agents go back to the map that each of them still has.
    case takingBack(Return)
    /// After the promotion agents have no other map: the entries of the one before come again.
    case restoring(Return)
    /// The new map is in force, and a breach still takes it back.
    case tail(since: Int64)
    /// It ends so when all of it is published.
    case ending(RolloutOutcome)
    case ended(RolloutOutcome)

    /// Why it is paused.
    package struct Pause: Sendable, Hashable {
        package var why: String
        /// In milliseconds on the monotonic clock, as all times here.
        package var since: Int64
        /// Whether the new map lies in the place of the old one.
        package var isPromoted: Bool
        /// Whether a breach still takes it back; not when a person who does not stay has paused it.
        package var isWatched: Bool
    }

    /// Why agents go back.
    package struct Return: Sendable, Hashable {
        package var why: String
        package var since: Int64
    }

    /// What is to be done.
    package enum Action: Sendable, Hashable {
        case pause(why: String)
        /// Has agents choose the map that they still have.
        case takeBack(why: String)
        /// Publishes the entries of the map before under a new revision.
        case restore(why: String)
    }

    // MARK: What it is

    /// Whether nothing more is decided.
    var isOver: Bool {
        switch self {
        case .ending, .ended: true
        default: false
        }
    }

    /// Whether a breach still does something.
    package var isWatching: Bool {
        switch self {
        case .steering, .promoting, .tail: true
        case .paused(let pause): pause.isWatched
        case .reading, .takingBack, .restoring, .ending, .ended: false
        }
    }

    package var outcome: RolloutOutcome? { if case .ended(let outcome) = self { outcome } else { nil } }

    /// Whether the new map was published in the place of the old one.
    package var isPromoted: Bool {
        switch self {
        case .paused(let pause): pause.isPromoted
        case .promoting(_, let isPublished): isPublished
        case .tail: true
        case .reading, .steering, .takingBack, .restoring, .ending, .ended: false
        }
    }

    /// The state of the control document that goes with it; nil where several do.
    package var word: RolloutControl.State? {
        switch self {
        case .steering: .running
        case .paused: .paused
        case .promoting: .promoting
        case .takingBack, .restoring: .takingBack
        case .tail: .done
        case .reading, .ending, .ended: nil
        }
    }

    // MARK: What happened

    // What can't follow here changes nothing. What may follow is on the page Architecture, and a test tries all of it.

    /// A controller takes over what another one left.
    package mutating func tookOver(
        _ control: RolloutControl, isPromoted: Bool, isRestored: Bool, at now: Int64
    ) {
        guard self == .reading else { return }
        let why = control.why ?? control.state.rawValue
        switch control.state {
        case .paused:
            self = .paused(Pause(why: why, since: now, isPromoted: isPromoted, isWatched: true))
        case .promoting: self = .promoting(since: now, isPublished: isPromoted)
        case .takingBack where isPromoted || isRestored: self = .restoring(Return(why: why, since: now))
        case .takingBack: self = .takingBack(Return(why: why, since: now))
        default: self = isPromoted ? .promoting(since: now, isPublished: true) : .steering
        }
    }

    /// A stage begins; false where none can.
    package mutating func stageBegan() -> Bool {
        switch self {
        case .reading, .steering: break
        case .paused(let pause) where !pause.isPromoted: break
        case .paused, .promoting, .takingBack, .restoring, .tail, .ending, .ended: return false
        }
        self = .steering
        return true
    }

    /// A gate broke: what of its consequence is left to be done.
    package func breached(_ gate: RolloutStatus.Gate) -> Action? {
        let why = "\(gate.name): \(gate.found); the limit is \(gate.limit)"
        switch (self, gate.consequence) {
        case (.steering, .pause): return .pause(why: why)
        case (.steering, .takeBack), (.paused, .takeBack), (.promoting, .takeBack), (.tail, .takeBack):
            return goBack(why)
        default: return nil
        }
    }

    /// It is wanted back; nil where agents go back already.
    package func goBack(_ why: String) -> Action? {
        switch self {
        case .takingBack, .restoring, .ending, .ended, .reading: nil
        case .steering, .paused, .promoting, .tail: isPromoted ? .restore(why: why) : .takeBack(why: why)
        }
    }

    /// Something or someone stops it; false where there is nothing to stop.
    package mutating func pauseBegan(_ why: String, isWatched: Bool, at now: Int64) -> Bool {
        switch self {
        case .steering, .promoting, .paused:
            self = .paused(Pause(why: why, since: now, isPromoted: isPromoted, isWatched: isWatched))
            return true
        case .reading, .takingBack, .restoring, .tail, .ending, .ended: return false
        }
    }

    /// All agents get the new map as their own; false where it is over, or where they go back.
    package mutating func promotionBegan(at now: Int64) -> Bool {
        switch self {
        case .steering, .paused, .promoting:
            self = .promoting(since: now, isPublished: isPromoted)
            return true
        case .reading, .takingBack, .restoring, .tail, .ending, .ended: return false
        }
    }

    /// The new map was published in the place of the old one.
    package mutating func mapWasPublished() {
        if case .promoting(let since, _) = self { self = .promoting(since: since, isPublished: true) }
    }

    /// Agents have it as their own.
    package mutating func promotionEnded(at now: Int64) {
        if case .promoting(_, isPublished: true) = self { self = .tail(since: now) }
    }

    /// Agents go back, in the way that ``goBack(_:)`` says; false where there is nothing to go back from.
    package mutating func returnBegan(_ why: String, at now: Int64) -> Bool {
        let back = Return(why: why, since: now)
        switch self {
        case .steering, .paused, .promoting, .tail: self = isPromoted ? .restoring(back) : .takingBack(back)
        case .restoring: self = .restoring(back)
        case .reading, .takingBack, .ending, .ended: return false
        }
        return true
    }

    /// It ends when all is published.
    package mutating func ends(_ outcome: RolloutOutcome) {
        switch self {
        case .paused, .promoting, .takingBack, .restoring, .tail: self = .ending(outcome)
        case .reading, .steering, .ending, .ended: break
        }
    }

    /// All is published.
    package mutating func allWasPublished() {
        if case .ending(let outcome) = self { self = .ended(outcome) }
    }

    /// Another controller steers it.
    package mutating func superseded(by name: String) {
        switch self {
        case .steering, .paused, .promoting, .takingBack, .restoring, .tail, .ending:
            self = .ended(.superseded(by: name))
        case .reading, .ended: break
        }
    }
}
