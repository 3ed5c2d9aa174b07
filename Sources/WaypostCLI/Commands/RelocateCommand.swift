import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct RelocateCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "relocate",
        abstract: "Redirect, add, delete or restore paths in an agent, and print the result.",
        discussion: """
            Sends one entry, or a document with --file (- is standard input). In a file, an object of type map, or \
            one with a rev, is the complete map: it replaces all that was sent before, patches too. Anything else \
            (one of TheRouter's entries, an array of entries, or an object of type patch) is added to the map in \
            force: of one agent, or of a group, which is sent the complete map that follows, with the next rev. A \
            signed patch says what it builds on; that is read from the agent unless --base and --rev are given.

            It first prints what would change, as waypost map diff does. It asks before entries disappear, or a map at the \
            broker is replaced; without a terminal that needs --yes. A map that is older, or that all would refuse, one \
            with an entry without effect, and one of which it is not known what it would do, need the option that allows \
            it.

            Examples:
              waypost relocate --agent k1 --from scheme://router/demo \\
                --to scheme://router/demo1
              waypost relocate --agent k1 --reset scheme://router/demo
              waypost relocate --agent k1 --add scheme://router/demo33 \\
                --class TheRouter_Example.TheRouterControllerC
              waypost relocate --agent k1 --delete scheme://router/demo2
              waypost relocate --agent k1 --from 'scheme://shop/**' \\
                --to 'scheme://store/**' --except scheme://shop/help
              waypost relocate --agent k1 --from scheme://cart \\
                --to scheme://router/orders \\
                --when '{"share":{"percent":10,"salt":"cart-2"}}'
              waypost relocate --agent k1 --file map.json --dry-run
              waypost relocate --agent k1 --file map.json --yes
              waypost relocate --group lobby --file map.json --yes
              waypost relocate --group lobby --from scheme://cart \\
                --to scheme://router/orders --yes
              waypost relocate --agent k1 --file map.json --sign-key release.pem --yes
            """)

    @OptionGroup(title: "What") var entry: RelocationOptions

    @Flag(help: "Only print what it would change; nothing is sent.")
    var dryRun = false

    @Flag(help: "Do not ask before entries disappear, or a map at the broker is replaced.")
    var yes = false

    @Flag(help: "Send it to an agent or group that does not exist yet: the broker keeps the map for it.")
    var newAgent = false

    @OptionGroup var objections: ObjectionOptions
    @OptionGroup var outdated: OutdatedOptions
    @OptionGroup var asking: AskOptions
    @OptionGroup var signing: SignOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var audience: AudienceOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        let audience = try audience.audience
        let settings = try await session.resolved(signedBy: signing, asking: asking)
        if case .group = audience, entry.base != nil {
            throw CommandError(
                .usage, "--base and --rev are for a patch of one agent; a group is sent a whole map")
        }
        let maps = MapClient(settings, of: audience, wait.replyWait)
        let relocation = try await maps.merged(try entry.relocation(by: settings.name))
        let delivery = MapDelivery(
            maps: maps, output: output,
            // Of an agent that is still to come nothing is known.
            allowed: objections.allowed.union(outdated.allowed)
                .union(newAgent ? [.unknownReceiver, .unchecked] : []).union(yes ? [.loss] : []))
        guard dryRun else { return try await delivery.send(relocation) }
        try await delivery.preview(relocation)
    }
}

/// Which entry, or which file.
struct RelocationOptions: ParsableArguments {
    @Option(name: .customLong("from"), help: ArgumentHelp("Redirect this path …", valueName: "path"))
    var origin: String?

    @Option(name: .customLong("to"), help: ArgumentHelp("… to that one.", valueName: "path"))
    var target: String?

    @Option(name: .customLong("add"), help: ArgumentHelp("Add a path …", valueName: "path"))
    var added: String?

    @Option(
        name: .customLong("class"),
        help: ArgumentHelp("… that opens the destination of this name.", valueName: "name"))
    var className: String?

    @Option(name: .customLong("delete"), help: ArgumentHelp("This path no longer opens.", valueName: "path"))
    var deleted: String?

    @Option(
        name: .customLong("reset"), help: ArgumentHelp("Remove the redirect of this path.", valueName: "path")
    )
    var reset: String?

    @Option(help: ArgumentHelp("A document with entries; - is standard input.", valueName: "file"))
    var file: String?

    @Option(
        name: .customLong("param"), parsing: .singleValue,
        help: ArgumentHelp(
            "A parameter that the redirect or the new path adds; may be repeated.", valueName: "key=value")
    )
    var pairs: [String] = []

    @Option(
        name: .customLong("except"), parsing: .singleValue,
        help: ArgumentHelp(
            "A pattern of URLs to which the redirect does not apply; may be repeated.", valueName: "path"))
    var exceptions: [String] = []

    @Option(
        help: ArgumentHelp(
            "When the entry applies, as a JSON object: {\"labels\":{\"region\":\"eu\"}}.", valueName: "json"))
    var when: String?

    @Option(
        help: ArgumentHelp(
            "The revision that a patch builds on: that of the patch before it, else of the agent's map, else 0.",
            valueName: "number"))
    var base: Int64?

    @Option(
        name: .customLong("rev"),
        help: ArgumentHelp("The patch's own revision, higher than all before it.", valueName: "number"))
    var revision: Int64?

    func validate() throws {
        guard (base == nil) == (revision == nil) else {
            throw ValidationError("--base and --rev must be used together")
        }
        let given = [origin, added, deleted, reset, file].compactMap(\.self).count
        guard given == 1 else {
            throw ValidationError(
                "use exactly one of: --from A --to B, --add PATH --class NAME, --delete PATH, --reset PATH, --file F"
            )
        }
        guard (origin == nil) == (target == nil) else {
            throw ValidationError("--from and --to must be used together")
        }
        guard (added == nil) == (className == nil) else {
            throw ValidationError("--add and --class must be used together")
        }
        guard pairs.isEmpty || origin != nil || added != nil else {
            throw ValidationError("--param needs --from or --add")
        }
        guard exceptions.isEmpty || origin != nil else { throw ValidationError("--except needs --from") }
        guard when == nil || file == nil else {
            throw ValidationError("with --file, write the condition into the file: when")
        }
    }

    /// The document to send.
    func relocation(by author: String) throws -> Relocation {
        let document = try document(by: author)
        guard let base, let revision else { return document }
        guard document.needsBase else {
            throw CommandError(.usage, "--base and --rev are for a patch that has none of its own")
        }
        return document.numbered(AppliedMap.NextPatch(base: base, revision: revision))
    }

    /// The document in a file; bare entries become a patch of `author`.
    static func relocation(file: String, by author: String) throws -> Relocation {
        let bytes = try InputFile.read(file, purpose: "relocation file")
        return try Relocation(file: bytes, name: file == "-" ? "standard input" : file, by: author)
    }

    private func document(by author: String) throws -> Relocation {
        if let file { return try Self.relocation(file: file, by: author) }
        var entry: [String: JSONValue] = [:]
        if let origin, let target {
            entry = ["routerType": 1, "orginPath": .string(origin), "targetPath": .string(target)]
        } else if let added, let className {
            entry = ["routerType": 2, "path": .string(added), "className": .string(className)]
        } else if let deleted {
            entry = ["routerType": 3, "path": .string(deleted)]
        } else if let reset {
            entry = ["routerType": 4, "orginPath": .string(reset)]
        }
        let parameters = try JSONArgument.pairs(pairs, option: "--param")
        if !parameters.isEmpty { entry["params"] = .object(parameters) }
        if !exceptions.isEmpty { entry["except"] = .array(exceptions.map(JSONValue.string)) }
        if let when { entry["when"] = .object(try JSONArgument.object(when, option: "--when")) }
        return try Relocation(entries: .object(entry), by: author)
    }
}
