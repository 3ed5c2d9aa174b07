import ArgumentParser
import Configuration
import MQTTLink
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

struct DoctorCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find out why an agent or a sender does not work, and what to do about it.",
        discussion: """
            Checks each broker: its version, the certificates, what the sender may read and write, the state of all \
            agents, and the clock of one. With --local it checks the agent of this machine: its own health, and its \
            state directory. The first line counts the findings; the worst come first, notes last.

            It changes nothing. With --try it also finds out which promises of a broker hold: it leaves a retained \
            message, a session and 1200 messages on a topic of its own, reads them back, at each broker of the list, and \
            removes them.

            Exit status: 0 when nothing failed, 1 when something failed, 4 when no broker accepts the connection.

            Examples:
              waypost doctor
              waypost doctor --broker mqtts://broker.example --agent k1 --as ops
              waypost doctor --local --config /etc/waypost/agent.yaml
              waypost doctor --try
              waypost doctor --json | jq -r 'select(.status == "failed") | .advice'
            """)

    @Option(
        help: ArgumentHelp(
            "The agent to check; with --local, the agent of this machine.",
            discussion: "Default: all; one that is online is sent a ping.",
            valueName: "id"), completion: .agents)
    var agent: String?

    @Flag(help: "Check the agent of this machine: its rights and its state directory.")
    var local = false

    @Flag(
        help: ArgumentHelp(
            "With --local: also sign in at each broker as the agent, and try its rights.",
            discussion: """
                Do not use it while commands wait for the agent at a broker that derives client ids from user names: \
                there it ends the agent's session, and its waiting messages are lost.
                """))
    var signIn = false

    @Flag(
        name: .customLong("try"),
        help: "Also try whether the broker keeps retained messages, sessions, and all that waits in them.")
    var tryPromises = false

    @Option(
        help: ArgumentHelp(
            "With --local: the agent's state directory.", discussion: "Default: that of waypost agent.",
            valueName: "directory"), completion: .directory)
    var state: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        try NameCheck.check(agent, of: "--agent")
        guard state == nil || local else { throw ValidationError("--state needs --local") }
        guard !tryPromises || !local else { throw ValidationError("--try is for a sender, without --local") }
        guard !signIn || local else { throw ValidationError("--sign-in needs --local") }
    }

    func perform() async throws {
        let given: Settings.Options = [
            "agent": agent.map(ConfigContent.string), "state": state.map(ConfigContent.string),
        ]
        let settings = try await session.settings(given.merging(session.given) { own, _ in own })
        let place = local ? try await LocalAgent(settings) : nil
        var brokers = local && !signIn ? nil : try await BackendConfiguration(settings)
        var accounts = 1
        if !local, var own = brokers {
            accounts = try await own.takeAccount(settings)
            brokers = own
        }
        var report = DoctorReport()
        // Also what was found before the rest could not be.
        defer { show(report) }
        if let profile = settings.profile { report.add([DoctorFinding("profile", .ok, profile)]) }
        if let place { report.add(LocalCheck(directory: place.directory, isSigningIn: signIn).findings) }
        var reached: Int?
        if let brokers {
            reached = try await Terminal.waiting(while: "reading what the broker keeps of the agents") {
                try await check(brokers, place, &report)
            }
            let sideBySide = SideBySideCheck(settings: brokers, accounts: accounts)
            if !local, reached != 0, let finding = await sideBySide.finding() { report.add([finding]) }
            if tryPromises, reached == brokers.brokers.count {
                report.add(try await PromiseCheck(settings: brokers).findings())
            } else if tryPromises, reached != 0 {
                report.add([
                    DoctorFinding("promises", .skipped, "they are tried once all brokers can be reached")
                ])
            }
        }
        if let place { report.add(StateCheck(directory: place.directory).findings) }
        if reached == 0 { throw Exit.noBroker }
        if report.hasFailed { throw Exit.failed }
    }

    private func show(_ report: DoctorReport) {
        guard !report.findings.isEmpty else { return }
        if output.isJSON {
            for finding in report.sorted { Terminal.print(json: finding.json) }
        } else {
            for line in report.lines(output.style) { Terminal.print(line) }
        }
    }

    /// Checks each broker; returns how many accepted the connection.
    private func check(
        _ brokers: BackendConfiguration, _ place: LocalAgent?, _ report: inout DoctorReport
    ) async throws -> Int {
        var reached = 0
        let name = place?.name
        guard place == nil || name != nil else {
            throw CommandError(.usage, "--sign-in needs the agent's name: --agent ID")
        }
        for url in brokers.brokers {
            var one = brokers
            one.brokers = [url]
            one.name = name ?? one.name
            let check = BrokerCheck(settings: one, agent: agent, wait: wait)
            do {
                if let name, let place {
                    report.add(try await check.asAgent(name, groups: place.groups))
                } else {
                    report.add(try await check.asSender())
                }
                reached += 1
            } catch let error as BackendError where error.kind == .noBroker {
                // The reason ends with what to do about it.
                report.add([DoctorFinding("broker", .failed, error.wording.shell)])
                // An expired certificate of our own is a reason to be turned away without a word.
                if let tls = brokers.tls {
                    let certificates = CertificateCheck(tls: tls, now: WallClock.now() / 1000)
                    report.add(certificates.findings(of: nil, host: url.host))
                }
            }
        }
        return reached
    }
}
