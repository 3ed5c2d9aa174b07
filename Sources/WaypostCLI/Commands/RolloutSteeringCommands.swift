import ArgumentParser
import WaypostBackend
import WaypostMessages

/// A verb that takes a roll-out over, changes it, and steers it from there.
protocol SteeringCommand: OperatorCommand {
    var steering: RolloutSteering { get }
    var order: RolloutDirector.Order { get }
    /// How it goes on from there.
    func options() throws -> RolloutOptions
}

extension SteeringCommand {
    var output: OutputOptions { steering.target.output }

    func options() throws -> RolloutOptions { RolloutOptions() }

    func perform() async throws {
        try await steering.steer(order, try options(), at: steering.settings())
    }
}

struct RolloutPauseCommand: SteeringCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop a roll-out where it is: the agents that have the new map keep it.",
        discussion: """
            The controller that steers it ends with status 3.

            Examples:
              waypost rollout pause --group lobby --why "looking at the failures"
            """)

    @OptionGroup
    var reason: RolloutReason

    @OptionGroup
    var steering: RolloutSteering

    var order: RolloutDirector.Order { .pause(why: reason.why) }

    func perform() async throws {
        do {
            try await steering.steer(order, at: steering.settings())
        } catch Exit.noReply {
            // That is what was asked for.
        }
    }
}

struct RolloutTakeBackCommand: SteeringCommand {
    static let configuration = CommandConfiguration(
        commandName: "take-back",
        abstract: "Have all agents go back to the map before.",
        discussion: """
            One small message does it; each agent still has the map.

            Examples:
              waypost rollout take-back --group lobby --why "wrong prices"
            """)

    @OptionGroup
    var reason: RolloutReason

    @OptionGroup
    var steering: RolloutSteering

    var order: RolloutDirector.Order { .takeBack(why: reason.why) }

    func perform() async throws {
        do {
            try await steering.steer(order, at: steering.settings())
        } catch Exit.failed {
            // That is what was asked for.
        }
    }
}

struct RolloutResumeCommand: SteeringCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Go on with a roll-out that is paused, or whose controller is gone.",
        discussion: """
            The stage begins anew.

            Examples:
              waypost rollout resume --group lobby
              waypost rollout resume --group lobby --dwell 1m --without-traffic
            """)

    @OptionGroup
    var pace: RolloutPace

    @OptionGroup
    var steering: RolloutSteering

    var order: RolloutDirector.Order { .resume }

    func options() throws -> RolloutOptions { try pace.options() }
}

struct RolloutAdvanceCommand: SteeringCommand {
    static let configuration = CommandConfiguration(
        commandName: "advance",
        abstract: "Go on to the next stage now, and steer from there.",
        discussion: """
            Examples:
              waypost rollout advance --group lobby
            """)

    @OptionGroup
    var pace: RolloutPace

    @OptionGroup
    var steering: RolloutSteering

    var order: RolloutDirector.Order { .advance }

    func options() throws -> RolloutOptions { try pace.options() }
}

struct RolloutPromoteCommand: SteeringCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Put the new map in force in the whole group now.",
        discussion: """
            Examples:
              waypost rollout promote --group lobby --tail 0s
            """)

    @OptionGroup
    var pace: RolloutPace

    @OptionGroup
    var steering: RolloutSteering

    var order: RolloutDirector.Order { .promote }

    func options() throws -> RolloutOptions { try pace.options() }
}
