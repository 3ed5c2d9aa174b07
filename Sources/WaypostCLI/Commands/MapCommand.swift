import ArgumentParser

struct MapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "map",
        abstract: "Show, test, undo and sign the relocation maps of agents.",
        discussion: """
            Without a subcommand it shows the maps in force.

            Examples:
              waypost map --agent k1
              waypost map diff --agent k1 --file map.json
              waypost map history --agent k1
              waypost map undo --agent k1 --dry-run
            """,
        subcommands: [
            MapShowCommand.self, MapDiffCommand.self, MapHistoryCommand.self, MapUndoCommand.self,
            MapSignCommand.self, MapVerifyCommand.self,
        ], defaultSubcommand: MapShowCommand.self)
}
