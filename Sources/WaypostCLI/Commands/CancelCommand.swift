import ArgumentParser
import WaypostMessages

struct CancelCommand: RequestVerb {
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

    func validate() throws { try NameCheck.check(target, of: "id") }

    func operation() -> Command.Operation { .cancel(target: target) }
}
