import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct RolloutStartCommand: SteeringVerb {
    static let configuration = CommandConfiguration(
        commandName: "start",
        abstract: "Roll a map out, and wait for the end.",
        discussion: """
            First it checks what waypost rollout plan checks. Then it goes from stage to stage as long as the gates \
            pass. Ctrl-C leaves the roll-out as it is; waypost rollout resume goes on. Where the broker has lost the map \
            that the agents have in force, it does not begin; with --republish the broker first gets that map again.

            Examples:
              waypost rollout start --group lobby --file map.json --id r-7
              waypost rollout start --group lobby --file map.json \\
                --stages 5,20%,100% --dwell 10m,5m
              waypost rollout start --group lobby --file map.json \\
                --include kiosk-1 --tail 0s --audit lobby.jsonl
              waypost rollout start --group all --file map.json --sign-key release.pem
            """)

    @Option(help: ArgumentHelp("The map, with a rev above the one in force.", valueName: "file"))
    var file: String

    @Option(help: ArgumentHelp("Its id, another one each time.", discussion: "Default: a new one."))
    var id: String?

    @Option(help: ArgumentHelp("A word about it, for people.", valueName: "text"))
    var why: String?

    @OptionGroup var stages: RolloutStageOptions
    @OptionGroup var pace: RolloutPace
    @OptionGroup var lost: RepublishOptions
    @OptionGroup var objections: ObjectionOptions
    @OptionGroup var asking: AskOptions
    @OptionGroup var audit: RolloutAudit
    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup(title: "Signing") var trust: TrustOptions
    @OptionGroup var target: RolloutTarget
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws { try NameCheck.check(id, of: "--id") }

    func perform() async throws {
        var settings = try await session.resolved(signedBy: signing, asking: asking)
        try trust.name(to: &settings.signer)
        let group = try target.name
        let map = try RelocationOptions.relocation(file: file, by: settings.name)
            .prepared(for: .group(group), settings)
        let name = id ?? "r-\(Identifier.short().lowercased())"
        var options = try stages.options(pace)
        options.allowed = objections.allowed
        options.auditFile = audit.file
        let backend = Backend(perCall: settings)
        let lost = try lost.file.map { try RelocationOptions.relocation(file: $0, by: settings.name) }
        let plan = try await Terminal.waiting(while: "asking the agents of @\(group)") {
            try await backend.group(group).planRollout(map, id: name, options, republishing: lost)
        }
        guard plan.faults.isEmpty else {
            throw BackendError(.notSent, "not begun: \(plan.faults.joined(separator: "; "))")
        }
        guard plan.objections.isEmpty else {
            let texts = plan.objections.map(\.text).joined(separator: "; ")
            throw BackendError(
                .notSent,
                "not begun: \(texts); \(plan.objections.options) "
                    + "\(plan.objections.count == 1 ? "begins" : "begin") all the same")
        }
        for notice in plan.notices.prefix(20) { Terminal.note("waypost: \(notice)") }
        try await steer(backend, options) { try await $0.rollOut(plan, because: why, observe: $2) }
    }
}
