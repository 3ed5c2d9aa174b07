import ArgumentParser
import WaypostMessages

struct CancelCommand: AgentRequest {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel a waiting or running command.",
        discussion: """
            Only the sender of a command may cancel it: use the same --as.

            Example:
              waypost call ClockService sleep --args '[5000]' --agent k1 --id nap-1 --wait 0
              waypost cancel nap-1 --agent k1
            """)

    @Argument(help: "The id of the command to cancel.")
    var target: String

    @OptionGroup
    var output: OutputOptions

    @OptionGroup
    var options: CommandOptions

    func validate() throws {
        guard Name.isValid(target) else {
            throw ValidationError(
                "id \(target.debugDescription) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
    }

    func operation() -> Command.Operation { .cancel(target: target) }
}
