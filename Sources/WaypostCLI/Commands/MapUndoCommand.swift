import ArgumentParser
import WaypostBackend
import WaypostMessages

struct MapUndoCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Send the map before the last change again, with the next revision.",
        discussion: """
            Agents keep the last eight documents of each layer, see: waypost map history. For one agent a patch \
            counts as a change: then its map is sent with the patches before it. When the last one was refused, the map \
            in force is sent, so that the broker keeps that again. The changes are printed first. A second undo reverts \
            the first.

            By the rules that are shipped for a broker, agents are asked by one role and maps are sent by another: then \
            --ask-as names the profile that asks: --profile release --ask-as ops.

            Examples:
              waypost map undo --agent k1 --dry-run
              waypost map undo --agent k1 --yes
              waypost map undo --group lobby --to 41 --yes
            """)

    @OptionGroup var audience: AudienceOptions

    @Option(
        name: .customLong("to"),
        help: ArgumentHelp("The map with this revision instead of the one before.", valueName: "rev"))
    var revision: Int64?

    @Flag(help: "Only print what it would change.")
    var dryRun = false

    @Flag(help: "Send it without asking.")
    var yes = false

    @OptionGroup var asking: AskOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        let settings = try await session.resolved(signedBy: signing, asking: asking)
        let (backend, audience) = (Backend(perCall: settings), try audience.audience)
        let undo =
            switch audience {
            case .agent(let name):
                try await backend.agent(name).previousMap(revision: revision, deadline: wait.deadline)
            case .group(let name):
                try await backend.group(name).previousMap(revision: revision, deadline: wait.deadline)
            }
        if !output.isJSON {
            Terminal.note("waypost: back to \(undo.origin), as rev \(undo.revision)")
        }
        // It was in force before, with whatever it has.
        let delivery = MapDelivery(
            backend: backend, audience: audience, output: output, deadline: wait.deadline,
            allowed: yes ? MapUndo.allowed : MapUndo.allowed.subtracting([.loss]))
        if dryRun {
            try await delivery.preview(undo.relocation)
        } else {
            try await delivery.send(undo.relocation)
        }
    }
}
