/// What people do to a fleet, and what goes wrong, drawn from a seed.
///
/// Each is drawn also where a history is without it: all others stay as they are.
enum FleetDeed {
    enum Order { case resume, pause, takeBack }

    /// All agents are asked for a page, so many times.
    case opens(Int)
    case map(backend: Int)
    case undo(backend: Int)
    /// A keeper of the newest map begins its work.
    case keeper(backend: Int)
    case patch(backend: Int, agent: Int)
    /// One that the agent is to be in besides its own, or not any more.
    case group(backend: Int, agent: Int, name: String, joins: Bool)
    /// Both backends at once: one adds a group, and the other removes one.
    case groups(agent: Int, joins: String, leaves: String)
    /// Of a map that is good or not, as a program or a command does it, perhaps without one of the agents.
    case rollOut(backend: Int, isGood: Bool, isCommand: Bool, excluded: Int?)
    case steer(backend: Int, Order)
    /// Both backends at once.
    case steerBoth(Order, Order)
    /// What all are just getting is taken back.
    case takeBackPromoted
    /// It starts again after so many milliseconds.
    case killAgent(Int, downtime: Int64)
    /// Of one that has a candidate in force.
    case killTrying(downtime: Int64)
    case restartAgent(Int)
    case killBackend(Int)
    /// The network to one of the agents, or of the backends behind them.
    case cut(Int)
    case broker(isKilled: Bool)
    case sync(agent: Int)
    case full(agent: Int, bytes: Int)
    /// Of one of the agents, or that of the backends; so many milliseconds beside the right time.
    case clock(Int, error: Int64)
    case heals
    /// Somebody who may not publishes something in the name of those who may.
    case forgery(FleetForger.Kind, agent: Int)
    /// The member that says what is not so does, so many times.
    case lies(Int)
    case pause(Int64)

    init(_ draws: inout Draws, _ traits: FleetHistory.Traits) {
        let agent = Int.random(in: 0..<traits.agents, using: &draws)
        let backend = Int.random(in: 0...1, using: &draws)
        let (size, coin) = (Int64.random(in: 0...20_000, using: &draws), Bool.random(using: &draws))
        let name = size.isMultiple(of: 3) ? "night" : "day"
        switch Int.random(in: 0...43, using: &draws) {
        case 0...3: self = .map(backend: backend)
        case 4: self = coin ? .undo(backend: backend) : .keeper(backend: backend)
        case 5: self = .patch(backend: backend, agent: agent)
        case 6...11:
            self =
                traits.rolls
                ? .rollOut(
                    backend: backend, isGood: size > 6_000, isCommand: coin,
                    excluded: size.isMultiple(of: 4) ? agent : nil) : .map(backend: backend)
        case 12...15:
            let order: Order = size < 12_000 ? .resume : size < 16_000 ? .pause : .takeBack
            let other: Order = size.isMultiple(of: 2) ? .takeBack : .resume
            self =
                !traits.rolls ? .opens(1) : coin ? .steer(backend: backend, order) : .steerBoth(order, other)
        case 16...18: self = .killAgent(agent, downtime: size)
        case 19: self = .restartAgent(agent)
        case 20...22: self = .killBackend(backend)
        case 23: self = .cut(agent)
        case 24: self = .cut(traits.agents + backend)
        case 25: self = .broker(isKilled: coin)
        case 26: self = traits.hasLiar ? .pause(size) : .sync(agent: agent)
        case 27: self = traits.hasLiar ? .pause(size) : .full(agent: agent, bytes: 4_096 + Int(size) * 20)
        case 28, 29: self = .heals
        case 30...32: self = .pause(2 * size)
        case 33, 34:
            self =
                traits.isSigned
                ? .forgery(size > 14_000 ? .groups : coin ? .map : .candidate, agent: agent) : .opens(1)
        case 35: self = traits.rolls ? .killTrying(downtime: 2 * size) : .opens(1)
        case 36...38: self = traits.hasLiar ? .lies(1 + Int(size % 5)) : .opens(1 + Int(size % 3))
        case 40, 41: self = .group(backend: backend, agent: agent, name: name, joins: coin)
        case 39:
            // Right again, a minute, an hour or a week.
            let reach: [Int64] = [0, 60_000, 3_600_000, 604_800_000]
            let error = reach[Int(size % 4)]
            self = .clock(agent + (size > 15_000 ? traits.agents : 0), error: coin ? error : -error)
        case 42: self = .groups(agent: agent, joins: coin ? "day" : "night", leaves: name)
        default: self = traits.rolls && coin ? .takeBackPromoted : .opens(1 + Int(size % 3))
        }
    }

    /// What a history may be without.
    var part: HistoryPart? {
        switch self {
        case .opens, .heals, .pause: nil
        case .map, .undo, .patch, .keeper: .maps
        case .group, .groups: .groups
        case .rollOut, .steer, .steerBoth, .takeBackPromoted, .killTrying: .rollouts
        case .killAgent, .restartAgent: .power
        case .killBackend: .backend
        case .cut: .cut
        case .broker: .broker
        case .sync: .sync
        case .full: .full
        case .clock: .clock
        case .lies: .lies
        case .forgery: .forged
        }
    }
}
