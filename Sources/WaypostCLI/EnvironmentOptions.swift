/// Options of a command that the environment sets: `WAYPOST_WAIT=2s` is `--wait 2s`.
///
/// Those about the broker and of `waypost agent` are settings, which a file may have as well; see ``Settings``.
struct EnvironmentOptions {
    /// The words behind the program's name, with the options of the environment.
    let words: [String]
    /// The variables that they came from.
    let variables: [String]

    /// Of options that say the same thing in another way only one is set: these words keep a variable's option away.
    private static let superseding: [String: Set<String>] = [
        // `describe agent ID` is a way to say it, too.
        "agent": ["--group", "--matching", "--contract", "--routes", "--demo", "--local", "agent"],
        "group": ["--agent", "--matching"],
        "routes": ["--agent", "--demo", "agent"], "demo": ["--agent", "--routes", "agent"],
    ]

    /// The settings of the agent that mean the same to other verbs.
    ///
    /// All others are about the agent alone: its label `WAYPOST_LABEL` is no condition of a command that is sent from its
    /// machine.
    private static let shared: Set<String> = ["agent", "group", "demo", "routes", "json", "state"]

    /// And these say something only beside another word: `WAYPOST_STATE` is where the agent of the machine has its files.
    private static let requiring = ["state": "--local", "sign-in": "--local"]

    /// - Throws: ``CommandError`` 64 when a variable of a flag is neither true nor false.
    init(
        _ words: [String], environment: [String: String] = Invocation.current.environment
    ) throws(CommandError) {
        let settings = Set(BrokerOptions.names.map { $0.dropFirst(2) } + ["as", "password"])
        let given = environment.compactMap { variable, value in
            SettingNames.name(of: variable).map { (name: $0, variable: variable, value: value) }
        }.filter { !$0.value.isEmpty && !settings.contains($0.name[...]) }
        // Reading all about the options takes a while, so only when it may be needed.
        let verb = CommandLineCheck.verb(of: words)
        guard !verb.isEmpty, verb != ["agent"], !given.isEmpty else {
            (self.words, variables) = (words, [])
            return
        }
        let options = CommandLineCheck.options(of: verb)
        let settingsOfAgent = CommandLineCheck.options(of: ["agent"])
        let own = words.dropFirst(verb.count)
        var decided = Set(own.map(CommandOption.name))
        var added: [String] = []
        var variables: [String] = []
        for (name, variable, value) in given.sorted(by: { $0.name < $1.name }) {
            guard let option = options["--\(name)"], decided.isDisjoint(with: option.names),
                decided.isDisjoint(with: Self.superseding[name] ?? []),
                Self.shared.contains(name) || settingsOfAgent["--\(name)"] == nil,
                // The agent takes several of some, such as groups, where a verb takes one.
                option.isRepeating || settingsOfAgent["--\(name)"]?.isRepeating != true
                    || !value.contains(","),
                Self.requiring[name].map(decided.contains) ?? true
            else { continue }
            if option.takesValue {
                let values = option.isRepeating ? value.split(separator: ",").map(String.init) : [value]
                added += values.map { "--\(name)=\($0)" }
            } else if try Self.isTrue(value, variable) {
                added.append("--\(name)")
            } else {
                continue
            }
            decided.insert("--\(name)")
            variables.append(variable)
        }
        self.words = verb + added + own
        self.variables = variables
    }

    /// Says which variables look like misspelt ones.
    static func warnOfTypos(in environment: [String: String] = Invocation.current.environment) {
        let typos = SettingNames.typos(
            in: environment.keys, isOption: { CommandLineCheck.hasOption("--\($0)") })
        for typo in typos {
            Terminal.note("waypost: warning: \(typo.variable) is not a setting; did you mean \(typo.meant)?")
        }
    }

    private static func isTrue(_ value: String, _ variable: String) throws(CommandError) -> Bool {
        switch value.lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: throw CommandError(.usage, "\(variable) must be true or false; found \(value)")
        }
    }
}
