import ArgumentParser

/// Who sends: the name stands in the topic, so that the broker's rules can vouch for it.
struct SenderOptions: ParsableArguments {
    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "The sender's name, as it appears in topics.",
            discussion: "Default: the user name for the broker, else that of your account, else ops.",
            valueName: "name"))
    var name: String?

    func validate() throws { try NameCheck.check(name, of: "--as") }
}
