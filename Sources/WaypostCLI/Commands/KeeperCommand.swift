import ArgumentParser
import FoundationEssentials
import Waypost
import WaypostBackend
import WaypostMessages

struct KeeperCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "keeper",
        abstract: "Keep maps in force, at brokers that forget what they should retain.",
        discussion: """
            The directory holds a map for each agent and group: kiosk-1.json, @lobby.json, @all.json. Whenever an agent \
            has an older map, or none, the wanted one is published again, at most 100 documents a second. It runs \
            until Ctrl-C.

            Examples:
              waypost keeper --wanted maps
            """)

    @Option(help: ArgumentHelp("The directory with the maps.", valueName: "dir"), completion: .directory)
    var wanted: String

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Sender", visibility: .shared)
    var sender: SenderOptions

    @OptionGroup(title: "Broker", visibility: .shared)
    var broker: BrokerOptions

    func perform() async throws {
        let settings = try await broker.resolved(as: sender.name)
        let maps = try Self.maps(in: wanted)
        Terminal.note("waypost: \(maps.count.counted("map")) wanted at \(settings.place)")
        do {
            try await KeeperRun(settings, maps).run { topic in
                if output.isJSON {
                    Terminal.print(json: ["published": .string(topic)])
                } else {
                    Terminal.print("published \(topic)")
                }
            }
        } catch is CancellationError where Signals.exit == .terminated {
            // SIGTERM is its ordinary end.
        }
    }

    private static func maps(in directory: String) throws -> [MapKeeper.Wanted] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw CommandError(.usage, "the directory \(directory) can't be read")
        }
        let maps = try names.filter { $0.hasSuffix(".json") }.sorted().map { name in
            guard let audience = Audience(String(name.dropLast(5))) else {
                throw CommandError(.usage, "\(directory)/\(name): the name is no agent and no @group")
            }
            let file = "\(directory)/\(name)"
            return try MapKeeper.Wanted(
                InputFile.read(file, purpose: "map"), for: audience, name: file)
        }
        guard !maps.isEmpty else { throw CommandError(.usage, "\(directory) has no map") }
        return maps
    }
}
