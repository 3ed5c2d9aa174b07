import ArgumentParser
import WaypostBackend
import WaypostMessages

struct RolloutPlanCommand: RolloutVerb {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what a roll-out would do; nothing is changed.",
        discussion: """
            The map is checked against each distinct list of routes in the group: missing targets, cycles, refusals. \
            It prints the agents of each stage. Exit status 1 when it must not begin, 3 when what it would do is not \
            known of all agents.

            Examples:
              waypost rollout plan --group lobby --file map.json
              waypost rollout plan --group lobby --file map.json \\
                --stages 3,10%,100% --json
              waypost rollout plan --group lobby --file map.json \\
                --only region=eu --only 'app<2.5'
              waypost rollout plan --group lobby --file map.json --sign-key release.pem
            """)

    @Option(help: ArgumentHelp("The map, with a rev above the one in force.", valueName: "file"))
    var file: String

    @Option(help: "The id that it would have: it says which agents come first.")
    var id = "plan"

    @Option(
        name: .customLong("only"), parsing: .singleValue,
        help: ArgumentHelp(
            "Show it of the agents alone with this label, region=eu, or with these versions of the app, 'app<2.5', 'app>=2.1 <3'. May be repeated; all must fit.",
            valueName: "fact"))
    var only: [String] = []

    @OptionGroup var stages: RolloutStageOptions
    @OptionGroup var pace: RolloutPace
    @OptionGroup var lost: RepublishOptions
    @OptionGroup var objections: ObjectionOptions
    @OptionGroup var asking: AskOptions
    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup(title: "Signing") var trust: TrustOptions
    @OptionGroup var target: RolloutTarget
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        try NameCheck.check(id, of: "--id")
        _ = try FactFilter.selection(only)
    }

    func perform() async throws {
        var settings = try await session.resolved(signedBy: signing, asking: asking)
        try trust.name(to: &settings.signer)
        let map = try RelocationOptions.relocation(file: file, by: settings.name)
            .prepared(for: .group(target.name), settings)
        var options = try stages.options(pace)
        options.allowed = objections.allowed
        let group = Backend(perCall: settings).group(try target.name)
        let lost = try lost.file.map { try RelocationOptions.relocation(file: $0, by: settings.name) }
        let plan = try await Terminal.waiting(while: "asking the agents of @\(group.name)") {
            try await group.planRollout(
                map, id: id, options, republishing: lost, only: try FactFilter.selection(only))
        }
        if output.isJSON {
            Terminal.print(json: plan.json)
        } else {
            for line in text.lines(plan) { Terminal.print(line) }
        }
        guard !plan.isClear else { return }
        let isUnknown = plan.faults.isEmpty && plan.objections.allSatisfy { $0.kind == .unchecked }
        throw isUnknown ? Exit.noReply : Exit.failed
    }
}
