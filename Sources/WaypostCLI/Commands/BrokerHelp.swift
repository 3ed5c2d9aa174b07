import ArgumentParser

/// The page `waypost help broker`: the options that all commands to a broker share.
struct BrokerHelp: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broker",
        abstract: "Where the broker is, and how to log in: options of every command that uses one.",
        usage: "waypost COMMAND [<broker options>]",
        discussion: """
            Every option can also be set in the environment, as WAYPOST_ and its name in capitals \
            (WAYPOST_PASSWORD_FILE, WAYPOST_WAIT=2s, WAYPOST_JSON=true). The command line wins over the environment, \
            and the environment over the file of --config, which can hold these options, --as, and those of waypost \
            agent. To keep them under a name: waypost help profile.

            Examples:
              waypost agents --broker mqtts://broker.example --username ops \\
                --password-file ~/.waypost-password
              WAYPOST_BROKER=mqtts://broker.example waypost ping --agent k1
            """,
        shouldDisplay: false)

    @OptionGroup(title: "Broker") var broker: BrokerOptions
    @OptionGroup(title: "Sender") var sender: SenderOptions
    @OptionGroup(title: "Signing") var signing: SignOptions
}
