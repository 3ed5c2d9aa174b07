import ArgumentParser
import WaypostBackend
import WaypostMessages

struct RolloutPauseCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop a roll-out where it is: the agents that have the new map keep it.",
        discussion: """
            The controller that steers it ends with status 3.

            Examples:
              waypost rollout pause --group lobby --why "looking at the failures"
            """)

    @Option(help: ArgumentHelp("Why, for people.", valueName: "text"))
    var why = "by hand"

    @OptionGroup
    var target: RolloutTarget

    var output: OutputOptions { target.output }

    func perform() async throws {
        do {
            try await target.steer(.pause(why: why), at: target.settings())
        } catch Exit.noReply {
            // That is what was asked for.
        }
    }
}

struct RolloutResumeCommand: OperatorCommand {
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
    var stages: RolloutStageOptions

    @OptionGroup
    var target: RolloutTarget

    var output: OutputOptions { target.output }

    func perform() async throws {
        try await target.steer(.resume, stages.options(), at: target.settings())
    }
}

struct RolloutAdvanceCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "advance",
        abstract: "Go on to the next stage now, and steer from there.",
        discussion: """
            Examples:
              waypost rollout advance --group lobby
            """)

    @OptionGroup
    var stages: RolloutStageOptions

    @OptionGroup
    var target: RolloutTarget

    var output: OutputOptions { target.output }

    func perform() async throws {
        try await target.steer(.advance, stages.options(), at: target.settings())
    }
}

struct RolloutTakeBackCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "take-back",
        abstract: "Have all agents go back to the map before.",
        discussion: """
            One small message does it; each agent still has the map. Exit status 1: it is taken back.

            Examples:
              waypost rollout take-back --group lobby --why "wrong prices"
            """)

    @Option(help: ArgumentHelp("Why, for people.", valueName: "text"))
    var why = "by hand"

    @OptionGroup(title: "Signing", visibility: .shared)
    var signing: SignOptions

    @OptionGroup
    var target: RolloutTarget

    var output: OutputOptions { target.output }

    func perform() async throws {
        var settings = try await target.settings()
        settings.signer = try signing.signer()
        try await target.steer(.takeBack(why: why), at: settings)
    }
}

struct RolloutPromoteCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Put the new map in force in the whole group now.",
        discussion: """
            Examples:
              waypost rollout promote --group lobby --tail 0s
            """)

    @OptionGroup
    var stages: RolloutStageOptions

    @OptionGroup
    var target: RolloutTarget

    var output: OutputOptions { target.output }

    func perform() async throws {
        try await target.steer(.promote, stages.options(), at: target.settings())
    }
}
