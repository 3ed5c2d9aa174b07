import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct RelocateCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "relocate",
        abstract: "Redirect, add, delete, switch off or gate paths, services and methods in an agent.",
        discussion: """
            What a map does to pages is said with --pages, what it does to calls with --service and --method: \
            --off (callers get 503 SWITCHED_OFF, or your own --code), --on, --answer, --by, --gate, --refuse.

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
              waypost relocate --agent k1 --pages scheme://router/demo3 --off \\
                --reason 'the shop opens at nine'
              waypost relocate --agent k1 --service PrinterService --off
              waypost relocate --agent k1 --service ClockService --method now --answer 0
              waypost relocate --agent k1 --pages scheme://router/user/:id --gate login
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
    @OptionGroup var trust: TrustOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var audience: AudienceOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        let audience = try audience.audience
        var settings = try await session.resolved(signedBy: signing, asking: asking)
        try trust.name(to: &settings.signer)
        if case .group = audience, entry.base != nil {
            throw CommandError(
                .usage, "--base and --rev are for a patch of one agent; a group is sent a whole map")
        }
        let relocation = try entry.relocation(by: settings.name)
        let delivery = MapDelivery(
            backend: Backend(perCall: settings), audience: audience, output: output, deadline: wait.deadline,
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

    @Option(help: ArgumentHelp("The pages of this URL or pattern …", valueName: "path"))
    var pages: String?

    @Option(help: ArgumentHelp("The methods of this service …", valueName: "name"))
    var service: String?

    @Option(help: ArgumentHelp("… or this one of them …", valueName: "name"))
    var method: String?

    @Flag(help: "… are switched off: callers get 503 SWITCHED_OFF, or the code of --code.")
    var off = false

    @Flag(help: "… are not switched off, answered, replaced or gated by entries below.")
    var on = false

    @Option(help: ArgumentHelp("… is not run, and returns this value.", valueName: "json"))
    var answer: String?

    @Option(
        name: .customLong("by"),
        help: ArgumentHelp(
            "… is replaced by this method of the same shape, of the same service or of another.",
            valueName: "[service.]method"))
    var replacement: String?

    @Option(help: ArgumentHelp("… open through the program's gate of this name.", valueName: "name"))
    var gate: String?

    @Flag(help: "… are refused with the sentence of --reason, as by an interceptor.")
    var refuse = false

    @Option(help: ArgumentHelp("With --off or --refuse: the sentence that callers get.", valueName: "text"))
    var reason: String?

    @Option(
        name: .customLong("code"),
        help: ArgumentHelp("With --off: a code of the application.", valueName: "number=name"))
    var code: String?

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
            "A pattern of URLs, or a method of --service, to which it does not apply; may be repeated.",
            valueName: "path"))
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
        let given = [origin, added, deleted, reset, file, pages, service].compactMap(\.self).count
        guard given == 1 else {
            throw ValidationError(
                "use exactly one of: --from A --to B, --add PATH --class NAME, --delete PATH, --reset PATH, --pages PATH, "
                    + "--service NAME, --file F"
            )
        }
        try validateNamed()
        guard (origin == nil) == (target == nil) else {
            throw ValidationError("--from and --to must be used together")
        }
        guard (added == nil) == (className == nil) else {
            throw ValidationError("--add and --class must be used together")
        }
        guard pairs.isEmpty || origin != nil || added != nil else {
            throw ValidationError("--param needs --from or --add")
        }
        guard exceptions.isEmpty || origin != nil || pages != nil || service != nil else {
            throw ValidationError("--except needs --from, --pages or --service")
        }
        guard when == nil || file == nil else {
            throw ValidationError("with --file, write the condition into the file: when")
        }
    }

    /// The options of what happens to pages and calls, as they are given.
    private var effects: [String] {
        [
            off ? "--off" : nil, on ? "--on" : nil, answer.map { _ in "--answer" },
            replacement.map { _ in "--by" },
            gate.map { _ in "--gate" }, refuse ? "--refuse" : nil,
        ].compactMap(\.self)
    }

    private func validateNamed() throws {
        guard pages != nil || service != nil else {
            if let stray = effects.first ?? method.map({ _ in "--method" }) {
                throw ValidationError("\(stray) needs --pages or --service")
            }
            guard reason == nil, code == nil else { throw ValidationError("--reason and --code need --off") }
            return
        }
        let possible =
            pages != nil
            ? ["--off", "--on", "--gate", "--refuse"]
            : method == nil ? ["--off", "--on"] : ["--off", "--on", "--answer", "--by"]
        let subject = pages != nil ? "--pages" : method == nil ? "--service" : "--service with --method"
        guard effects.count == 1, let effect = effects.first, possible.contains(effect) else {
            throw ValidationError("\(subject) needs exactly one of \(possible.joined(separator: ", "))")
        }
        guard pages == nil || method == nil else { throw ValidationError("--method needs --service") }
        guard reason == nil || off || refuse else {
            throw ValidationError("--reason needs --off or --refuse")
        }
        guard !refuse || reason != nil else { throw ValidationError("--refuse needs --reason") }
        guard code == nil || off else { throw ValidationError("--code needs --off") }
    }

    /// The entry about pages or calls; what does not fit is found as an agent would.
    private func namedEntry() throws -> [String: JSONValue] {
        var entry: [String: JSONValue] = [:]
        entry["path"] = pages.map { .string($0) }
        entry["service"] = service.map { .string($0) }
        entry["method"] = method.map { .string($0) }
        entry["reason"] = reason.map { .string($0) }
        entry["routerType"] =
            off ? "off" : on ? "on" : answer != nil ? "answer" : replacement != nil ? "replace" : "gate"
        entry["gate"] = gate.map { .string($0) }
        if let answer { entry["value"] = try JSONArgument.parse(answer, option: "--answer") }
        if let replacement {
            // A service has no dot, a method's selector has none either.
            let parts = replacement.split(separator: ".", maxSplits: 1).map(String.init)
            entry["by"] =
                parts.count == 2
                ? ["service": .string(parts[0]), "method": .string(parts[1])]
                : ["method": .string(replacement)]
        }
        if let code {
            let parts = code.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let number = Int64(parts[0]) else {
                throw CommandError(.usage, "--code must be a number and a name: 1012=SHOP_CLOSED")
            }
            (entry["code"], entry["name"]) = (.int(number), .string(parts[1]))
        }
        return entry
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
        } else if pages != nil || service != nil {
            entry = try namedEntry()
        }
        let parameters = try JSONArgument.pairs(pairs, option: "--param")
        if !parameters.isEmpty { entry["params"] = .object(parameters) }
        if !exceptions.isEmpty { entry["except"] = .array(exceptions.map(JSONValue.string)) }
        if let when { entry["when"] = .object(try JSONArgument.object(when, option: "--when")) }
        return try Relocation(entries: .object(entry), by: author)
    }
}
