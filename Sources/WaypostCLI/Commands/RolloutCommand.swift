import ArgumentParser

struct RolloutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rollout",
        abstract: "Roll a map out in stages, watched, and taken back by itself when it does harm.",
        discussion: """
            A group has one map in force, one candidate, and a small control document; each agent decides by a hash of \
            its name which of the two is in force. Gates compare the agents that have the new map with those that \
            have not, at the same time. A breach takes it back, in seconds and without sending a map again.

            The controller has no state: killed at any point, waypost rollout resume goes on. While a gate has paused \
            the roll-out it is still watched, and taken back when it must be.

            start, resume, advance, promote, take-back and watch wait for the end. Exit status: 0 done, or what was asked \
            for; 1 taken back or refused; 3 paused, inconclusive, or steered by another; 4 no broker; 64 wrong usage.

            Examples:
              waypost rollout plan --group lobby --file map.json
              waypost rollout start --group lobby --file map.json --id r-7
              waypost rollout watch --group lobby
              waypost rollout take-back --group lobby --why "wrong prices"
            """,
        subcommands: [
            RolloutPlanCommand.self, RolloutStartCommand.self, RolloutStatusCommand.self,
            RolloutWatchCommand.self, SteeringCommand<RolloutPause>.self, SteeringCommand<RolloutResume>.self,
            SteeringCommand<RolloutAdvance>.self, SteeringCommand<RolloutTakeBack>.self,
            SteeringCommand<RolloutPromote>.self, RolloutHistoryCommand.self,
        ])
}
