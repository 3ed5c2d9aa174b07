import ArgumentParser
import WaypostMessages

/// `waypost`: the family of commands.
struct WaypostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waypost",
        abstract: "A router and its services, controlled over MQTT.",
        discussion: """
            Try it:        waypost demo
            Run an agent:  waypost agent --agent k1 --demo
            Control it:    waypost open scheme://router/demo --agent k1
            Watch it:      waypost watch, or waypost console for a browser
            Find problems: waypost doctor

            Times are written 500ms, 10s, 5m, 2h. Brokers, user names and TLS: waypost help broker. Shell \
            completions: waypost --generate-completion-script bash (or zsh, fish).

            Exit status: 0 ok; 1 rejected, failed, expired, interrupted or canceled; 3 no reply in time; \
            4 no broker; 64 wrong usage; 65 an agent whose state only a person can mend; 130 ended by Ctrl-C.
            """,
        version: Version.current,
        // Pages of the help, which are found by their names.
        subcommands: [BrokerHelp.self, LimitsHelp.self],
        groupedSubcommands: [
            CommandGroup(
                name: "Run", subcommands: [AgentCommand.self, DemoCommand.self, SimulateCommand.self]),
            CommandGroup(
                name: "Control agents",
                subcommands: [
                    RequestCommand<OpenCommand>.self, RequestCommand<CallCommand>.self,
                    RequestCommand<NavigateCommand>.self, RequestCommand<CancelCommand>.self,
                    RelocateCommand.self, MapCommand.self, GroupsCommand.self, RolloutCommand.self,
                    KeeperCommand.self,
                    RequestCommand<LogCommand>.self, DescribeCommand.self,
                ]),
            CommandGroup(
                name: "Watch agents",
                subcommands: [
                    AgentsCommand.self, WatchCommand.self, ConsoleCommand.self, LogcatCommand.self,
                    ReplayCommand.self,
                    FailuresCommand.self,
                    RequestCommand<PingCommand>.self,
                    HealthCommand.self, DoctorCommand.self, ExplainCommand.self, WaitingCommand.self,
                    CollectCommand.self,
                    BenchCommand.self,
                    ForgetCommand.self, RetainedCommand.self, ProfileCommand.self,
                ]),
            CommandGroup(
                name: "Try routes and maps, also without a broker",
                subcommands: [
                    ResolveCommand.self, CheckCommand.self, RoutesCommand.self, ServicesCommand.self,
                    GenerateCommand.self, NewCommand.self,
                ]),
        ])
}
