import ArgumentParser
import WaypostBackend

/// What is its own of a verb that takes a roll-out over, changes it, and steers it from there.
protocol SteeringKind {
    associatedtype Options: SteeringOptions
    static var configuration: CommandConfiguration { get }
    /// The outcome that is what was asked for, whatever status it has otherwise.
    static var wanted: Exit? { get }
    static func steering(_ own: Options) -> Steering
}

extension SteeringKind {
    static var wanted: Exit? { nil }
}

/// Such a verb, with the options that all of them have.
struct SteeringCommand<Kind: SteeringKind>: SteeringVerb {
    static var configuration: CommandConfiguration { Kind.configuration }

    @OptionGroup var own: Kind.Options
    @OptionGroup var audit: RolloutAudit
    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup(title: "Signing") var trust: TrustOptions
    @OptionGroup var target: RolloutTarget
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        var settings = try await session.resolved(signedBy: signing)
        try trust.name(to: &settings.signer)
        do {
            try await steer(Backend(perCall: settings), own.options(), Kind.steering(own))
        } catch let exit as Exit where exit == Kind.wanted {
            // That is what was asked for.
        }
    }
}

enum RolloutPause: SteeringKind {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop a roll-out where it is: the agents that have the new map keep it.",
        discussion: """
            The controller that steers it ends with status 3, and no controller watches it until it is resumed.

            Examples:
              waypost rollout pause --group lobby --why "looking at the failures"
            """)

    static var wanted: Exit? { .noReply }

    static func steering(_ own: RolloutReason) -> Steering {
        { try await $0.pauseRollout(because: own.why, $1, observe: $2) }
    }
}

enum RolloutTakeBack: SteeringKind {
    static let configuration = CommandConfiguration(
        commandName: "take-back",
        abstract: "Have all agents go back to the map before.",
        discussion: """
            One small message does it; each agent still has the map.

            Examples:
              waypost rollout take-back --group lobby --why "wrong prices"
            """)

    static var wanted: Exit? { .failed }

    static func steering(_ own: RolloutReason) -> Steering {
        { try await $0.takeRolloutBack(because: own.why, $1, observe: $2) }
    }
}

enum RolloutResume: SteeringKind {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Go on with a roll-out that is paused, or whose controller is gone.",
        discussion: """
            The stage begins anew.

            Examples:
              waypost rollout resume --group lobby
              waypost rollout resume --group lobby --dwell 1m --without-traffic
            """)

    static func steering(_: RolloutPace) -> Steering {
        { try await $0.resumeRollout($1, observe: $2) }
    }
}

enum RolloutAdvance: SteeringKind {
    static let configuration = CommandConfiguration(
        commandName: "advance",
        abstract: "Go on to the next stage now, and steer from there.",
        discussion: """
            Examples:
              waypost rollout advance --group lobby
            """)

    static func steering(_: RolloutPace) -> Steering {
        { try await $0.advanceRollout($1, observe: $2) }
    }
}

enum RolloutPromote: SteeringKind {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Put the new map in force in the whole group now.",
        discussion: """
            Examples:
              waypost rollout promote --group lobby --tail 0s
            """)

    static func steering(_: RolloutPace) -> Steering {
        { try await $0.promoteRollout($1, observe: $2) }
    }
}
