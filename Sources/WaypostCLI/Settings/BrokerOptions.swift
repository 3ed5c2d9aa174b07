import ArgumentParser
import Configuration

/// Where the broker is and how we are trusted there; the same for every command that talks to one.
struct BrokerOptions: ParsableArguments {
    @Option(
        name: .customLong("broker"),
        help: ArgumentHelp(
            "mqtt://host:1883, mqtts://host:8883 or unix:///path; repeat it for brokers to be tried in turn.",
            discussion: "Default: mqtt://127.0.0.1:1883.", valueName: "url"))
    var brokers: [String] = []

    @Option(help: ArgumentHelp("The first levels of every topic.", discussion: "Default: waypost/v1."))
    var root: String?

    @Option(help: "The name to sign in with.")
    var username: String?

    @Option(
        help: ArgumentHelp(
            "A file whose first line is the password; or set WAYPOST_PASSWORD.", valueName: "file"),
        completion: .file())
    var passwordFile: String?

    @Option(
        help: ArgumentHelp("PEM certificates to trust; else the system's.", valueName: "file"),
        completion: .file())
    var caFile: String?

    @Option(
        help: ArgumentHelp("Our PEM certificate, for mutual TLS.", valueName: "file"), completion: .file())
    var certFile: String?

    @Option(help: ArgumentHelp("Its PEM key.", valueName: "file"), completion: .file())
    var keyFile: String?

    @Option(
        help: ArgumentHelp(
            "The MQTT version: 5, 3.1.1 or auto.", discussion: "Default: auto, 5 first.", valueName: "version"
        ), completion: .list(["5", "3.1.1", "auto"]))
    var mqtt: String?

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "A YAML or JSON file of settings, named as the options are.",
            discussion: """
                Every option may also come from the environment, as WAYPOST_ and its name in capitals \
                (WAYPOST_PASSWORD_FILE). An option goes before the environment, that before the file.
                """,
            valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json"]))
    var configurationFile: String?

    /// What was given on the command line.
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
