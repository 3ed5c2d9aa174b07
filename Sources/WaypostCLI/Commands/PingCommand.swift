import ArgumentParser
import WaypostMessages

struct PingCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Ask an agent for its health, and measure the round trip.",
        discussion: """
            Examples:
              waypost ping --agent k1
              waypost ping --group all --wait 2
              waypost ping --agent k1 --json
            """)

    @OptionGroup
    var output: OutputOptions

    @OptionGroup
    var options: CommandOptions

    func operation() -> Command.Operation { .ping }

    func lines(_ answer: AgentReply) -> [String] {
        guard answer.isOK else { return ReplyText(style: output.style).lines(answer) }
        let health = Health(answer.reply.result)
        let style = output.style
        let status = health.isGreen ? style.green(health.status) : style.red(health.status)
        return [
            "\(answer.agent): \(status), \(answer.roundTrip) ms, version \(health.version), "
                + "MQTT \(health.mqttVersion), up \(health.uptime), map \(health.mapText)"
        ] + health.problems.map { "  \(style.red($0.printable))" }
    }
}
