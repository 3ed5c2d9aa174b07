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
            has an older map, or none, or got none from the broker, the wanted one is published again, at most 100 \
            documents a second. A newer map is left alone, and reported once. The directory is read at the start. It \
            runs until Ctrl-C.

            Examples:
              waypost keeper --wanted maps
            """)

    @Option(help: ArgumentHelp("The directory with the maps.", valueName: "dir"), completion: .directory)
    var wanted: String

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        let settings = try await session.resolved()
        let maps = try Self.maps(in: wanted)
        Terminal.note("waypost: \(maps.count.counted("map")) wanted at \(settings.place)")
        do {
            for try await news in Backend(perCall: settings).keep(maps) { show(news) }
            try Task.checkCancellation()
        } catch is CancellationError where Signals.exit == .terminated {
            // SIGTERM is its ordinary end.
        }
    }

    private func show(_ news: KeeperNews) {
        switch news {
        case .published(let topic) where output.isJSON: Terminal.print(json: ["published": .string(topic)])
        case .published(let topic): Terminal.print("published \(topic)")
        case .overtaken(let audience, let revision, let rev):
            if output.isJSON {
                Terminal.print(json: [
                    "overtaken": .string(audience), "rev": .int(revision), "wanted": .int(rev),
                ])
            }
            Terminal.note(
                "waypost: \(wanted)/\(audience).json has rev \(rev), and \(audience) has rev \(revision) by now: it is not published"
            )
        case .unheard(let audience):
            if output.isJSON { Terminal.print(json: ["unheard": .string(audience)]) }
            let absence = (audience.hasPrefix("@") ? "no agent is in " : "there is no agent ") + audience
            Terminal.note(
                "waypost: \(wanted)/\(audience).json: \(absence); its map is published once one comes")
        case .connected: Terminal.note("waypost: connected again")
        }
    }

    private static func maps(in directory: String) throws -> [WantedMap] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw CommandError(.usage, "\(directory) is not a directory that can be read")
        }
        let maps = try names.filter { $0.hasSuffix(".json") }.sorted().map { name in
            let file = "\(directory)/\(name)"
            return try WantedMap(
                file: InputFile.read(file, purpose: "map"), for: String(name.dropLast(5)), name: file)
        }
        guard !maps.isEmpty else {
            throw CommandError(
                .usage, "\(directory) has no map: it must hold files such as kiosk-1.json and @lobby.json")
        }
        return maps
    }
}
