import ArgumentParser
import Configuration
import MQTTLink
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

struct CollectCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "collect",
        abstract:
            "Collect all that is known of an agent in one archive, for whoever has to explain what happened.",
        discussion: """
            The archive has what the broker keeps of the agent, its health, recent events, failures, and maps with their \
            history, and what waypost doctor finds. With --local it also has what this machine knows: the agent's \
            settings, the tables of its state without what commands and maps hold, and the unit's state and journal. Its file \
            index.json says what is in it, of when, and what could not be had, and why. The values of secret keys are \
            masked.

            It does as much as it can without a broker, and of an agent that does not answer. Where the settings are those \
            with which the agent signs in, --local does not ask the broker: a second session may end that of the agent.

            Exit status: 0 when the file was written, whatever is missing in it, 1 when it was not.

            Examples:
              waypost collect --agent k1
              waypost collect --agent k1 --output k1.tar.gz
              waypost collect --local --config /etc/waypost/agent.yaml
              waypost collect --agent k1 --json | jq -r '.parts[] | select(.missing).file'
            """)

    @Option(help: ArgumentHelp("The agent.", valueName: "id"), completion: .agents)
    var agent: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "The file to write.",
            discussion: "Default: a name with the agent and the time, in this directory.",
            valueName: "file"), completion: .file(extensions: ["gz"]))
    var file: String?

    @Flag(help: "Also collect what this machine, on which the agent runs, knows of it.")
    var local = false

    @Option(
        help: ArgumentHelp(
            "With --local: the agent's state directory.", discussion: "Default: that of waypost agent.",
            valueName: "directory"), completion: .directory)
    var state: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    private static let purpose = "the bundle"

    func validate() throws {
        guard state == nil || local else { throw ValidationError("--state needs --local") }
        guard agent != nil || local else { throw ValidationError("name the agent: --agent ID") }
        if !local { try NameCheck.check(agent, of: "--agent") }
        try wait.validateIsOn()
    }

    func perform() async throws {
        let given: Settings.Options = [
            "agent": agent.map(ConfigContent.string), "state": state.map(ConfigContent.string),
        ]
        let settings = try await session.settings(given.merging(session.given) { own, _ in own })
        let place = local ? try await LocalAgent(settings) : nil
        let name = place?.name ?? agent ?? "agent"
        let path = file ?? "waypost-\(name)-\(Timestamp.compact(WallClock.now())).tar.gz"
        // Before it takes its time.
        try OutputFile.check(path, purpose: Self.purpose)
        var bundle = try await collect(name, settings, isHere: place != nil)
        if let place {
            let local = LocalBundle(name: name, directory: place.directory, progress: show)
            try await local.add(to: &bundle, settings)
        }
        let bytes = try bundle.archive()
        try Task.checkCancellation()
        try OutputFile.write(bytes, to: path, purpose: Self.purpose, isPrivate: true)
        show(bundle, path, bytes.count)
    }

    /// What the broker knows, and what the doctor finds there.
    private func collect(_ name: String, _ settings: Settings, isHere: Bool) async throws -> AgentBundle {
        let keys = try await settings.texts("redact-key")
        var bundle = AgentBundle(agent: name, maskedKeys: keys)
        let text = "what the broker keeps, and what the agent answers over it"
        var broker: BackendConfiguration
        do throws(CommandError) {
            broker = try await BackendConfiguration(settings)
            guard !isHere || (broker.credentials?.username != name && broker.name != name) else {
                bundle.miss(
                    "broker", text,
                    "not asked: a session with the agent's own account may end that of the agent")
                show(bundle.parts)
                return bundle
            }
            try await broker.takeAccount(settings)
        } catch {
            // A setting that can't be read does not hide what this machine knows.
            guard isHere else { throw error }
            bundle.miss("broker", text, error.description)
            show(bundle.parts)
            return bundle
        }
        do {
            bundle = try await Backend.with(broker) { backend in
                try await backend.agent(name).collect(maskedKeys: keys, progress: show)
            }
        } catch let error as BackendError where error.kind == .noBroker {
            bundle.miss("broker", text, error.wording.shell)
            show(bundle.parts)
        }
        var report = DoctorReport()
        let started = WallClock.now()
        for url in broker.brokers {
            var one = broker
            one.brokers = [url]
            do {
                report.add(try await BrokerCheck(settings: one, agent: name, wait: wait).asSender())
            } catch let error as BackendError {
                report.add([DoctorFinding("broker", .failed, error.wording.shell)])
            }
        }
        bundle.add(
            "doctor.jsonl", "what waypost doctor finds, the worst first",
            lines: report.sorted.map { String(decoding: $0.json.serialized(), as: UTF8.self) }, since: started
        )
        show(bundle.parts)
        return bundle
    }

    private func show(_ parts: [AgentBundle.Part]) { if let part = parts.last { show(part) } }

    /// How far it is.
    private func show(_ part: AgentBundle.Part) {
        let found = part.missing.map { "missing: \($0)" } ?? "\(part.bytes) bytes"
        Terminal.note("waypost: \(part.file): \(found)")
    }

    private func show(_ bundle: AgentBundle, _ path: String, _ count: Int) {
        guard !output.isJSON else {
            let members = bundle.index.objectValue ?? [:]
            Terminal.print(json: .object(members.merging(["output": .string(path)]) { $1 }))
            return
        }
        let missing = bundle.parts.count { $0.missing != nil }
        let rest =
            missing > 0
            ? "; \(missing.counted("part")) of \(bundle.parts.count) missing, see its index.json" : ""
        Terminal.print("\(path): \(count) bytes\(rest)")
    }
}
