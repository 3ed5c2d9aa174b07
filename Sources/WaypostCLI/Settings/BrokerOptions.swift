import ArgumentParser
import Configuration

/// Where the broker is and how to log in; the same for every command that uses one.
struct BrokerOptions: ParsableArguments {
    @Option(
        name: .customLong("broker"),
        help: ArgumentHelp(
            "mqtt://host:1883, mqtts://host:8883 or unix:///path. May be repeated: the brokers are tried in turn.",
            discussion: "Default: mqtt://127.0.0.1:1883.", valueName: "url"))
    var brokers: [String] = []

    @Option(help: ArgumentHelp("The prefix of every topic.", discussion: "Default: waypost/v1."))
    var root: String?

    @Option(help: "The user name for the broker.")
    var username: String?

    @Option(
        help: ArgumentHelp(
            "A file whose first line is the password; or set WAYPOST_PASSWORD.", valueName: "file"),
        completion: .file())
    var passwordFile: String?

    @Option(
        help: ArgumentHelp(
            "PEM certificates of trusted authorities.", discussion: "Default: the system's.",
            valueName: "file"),
        completion: .file())
    var caFile: String?

    @Option(
        help: ArgumentHelp("The client's PEM certificate, for mutual TLS.", valueName: "file"),
        completion: .file())
    var certFile: String?

    @Option(help: ArgumentHelp("The PEM key of that certificate.", valueName: "file"), completion: .file())
    var keyFile: String?

    @Option(
        help: ArgumentHelp(
            "The MQTT version: 5, 3.1.1 or auto.", discussion: "Default: auto, 5 first.", valueName: "version"
        ), completion: .list(["5", "3.1.1", "auto"]))
    var mqtt: String?

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "A YAML or JSON file with settings; they have the names of the options.",
            discussion: """
                Every option can also be set in the environment, as WAYPOST_ and its name in capitals \
                (WAYPOST_PASSWORD_FILE). The command line wins over the environment, and that over the file.
                """,
            valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json"]))
    var configurationFile: String?

    /// The options by their names.
    static let names = [
        "--broker", "--root", "--username", "--password-file", "--ca-file", "--cert-file", "--key-file",
        "--mqtt",
        "--config",
    ]

    /// The options on the command line.
    var given: Settings.Options {
        [
            "broker": brokers.isEmpty ? nil : .stringArray(brokers),
            "root": root.map(ConfigContent.string),
            "username": username.map(ConfigContent.string),
            "password-file": passwordFile.map(ConfigContent.string),
            "ca-file": caFile.map(ConfigContent.string),
            "cert-file": certFile.map(ConfigContent.string),
            "key-file": keyFile.map(ConfigContent.string),
            "mqtt": mqtt.map(ConfigContent.string),
        ]
    }

    /// The settings of a command whose only ones are about the broker.
    func resolved() async throws(CommandError) -> BrokerSettings {
        try await BrokerSettings(Settings(given, file: configurationFile))
    }
}
