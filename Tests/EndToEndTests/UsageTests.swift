import ArgumentParser
import CommandSupport
import TestSupport
import Testing
import Waypost

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct UsageTests {
    @Test func `the commands are read from the program`() {
        #expect(Verbs.families.count > 20 && Verbs.all.count > Verbs.families.count)
        #expect(Set(Verbs.families).isSuperset(of: ["open", "failures", "services", "profile"]))
    }

    /// What the parser looks for itself only in the configuration debug, at each command.
    @Test func `no command has a name twice, and no argument stands behind one that repeats`() async throws {
        let dump = try await RunningCommand.run(["--experimental-dump-help"]).output.joined(separator: "\n")
        var commands = try [#require(JSONValue(parsing: dump, limits: .trustedFile)["command"])]
        var options = 0
        while let command = commands.popLast() {
            commands += command["subcommands"]?.arrayValue ?? []
            let name = command["commandName"]?.stringValue ?? ""
            // The parser's own --version gives way to an option of that name.
            let arguments = (command["arguments"]?.arrayValue ?? []).filter {
                $0["abstract"] != "Show the version."
            }
            let names = arguments.flatMap { argument in
                (argument["names"]?.arrayValue ?? []).map {
                    "\($0["kind"]?.text ?? "") \($0["name"]?.text ?? "")"
                }
            }
            options += names.count
            let twice = Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys
            #expect(twice.isEmpty, "\(name): \(twice)")
            let positional = arguments.filter { $0["kind"] == "positional" }
            #expect(positional.dropLast().allSatisfy { $0["isRepeating"] != true }, "\(name)")
        }
        #expect(options > 500)
    }

    /// In the configuration debug the parser checks the options of a group four times for each group that it is in.
    @Test func `no group of options holds another, and no command has one twice`() {
        for command in Verbs.types {
            let groups = Mirror(reflecting: command.init()).children.compactMap {
                type(of: $0.value) as? any GroupOfOptions.Type
            }
            #expect(Set(groups.map { "\($0)" }).count == groups.count, "\(command)")
            for group in groups {
                let inner = Mirror(reflecting: group.options.init()).children.filter {
                    $0.value is any GroupOfOptions
                }
                #expect(inner.isEmpty, "\(command): \(group) holds \(inner.compactMap(\.label))")
            }
        }
    }

    @Test(arguments: Verbs.families)
    func `every command explains itself, with an example`(_ command: String) async throws {
        let ending = try await RunningCommand.run([command, "--help"])
        #expect(ending.status == 0)
        #expect(ending.output.contains { $0.contains("waypost \(command)") })
        #expect(ending.output.contains { $0.contains("Example") })
    }

    @Test(arguments: Verbs.all)
    func `every member of a family explains itself`(_ words: [String]) async throws {
        let ending = try await RunningCommand.run(words + ["--help"])
        #expect(ending.status == 0)
        #expect(ending.output.contains { $0.contains("waypost \(words.joined(separator: " "))") })
    }

    private static let families: Set = ["generate", "map", "profile", "retained", "rollout"]

    @Test(arguments: Verbs.families.filter { !families.contains($0) })
    func `the help of a command has its own options, and names the page of the broker's`(_ command: String)
        async throws
    {
        let page = try await RunningCommand.run(["help", command]).output
        #expect(try await RunningCommand.run([command, "--help"]).output == page)
        let shared = ["--broker <url>", "--password-file", "--mqtt <version>", "--keepalive"]
        #expect(!page.contains { line in shared.contains { line.contains($0) } }, "\(page)")
        #expect(page.allSatisfy { $0.count <= 80 }, "\(page.filter { $0.count > 80 })")
        let usage = try #require(page.first { $0.hasPrefix("USAGE: ") })
        #expect(usage.hasPrefix("USAGE: waypost \(command)"))
        let hasBroker = try await RunningCommand.run([command, "--help-hidden"]).output
            .contains { $0.contains("--broker <url>") }
        #expect(page.contains { $0.contains("waypost help broker") } == hasBroker)
    }

    @Test func `the options that commands share have pages of their own, and completions know them`()
        async throws
    {
        let broker = try await RunningCommand.run(["help", "broker"])
        #expect(broker.status == 0)
        for option in ["--broker", "--root", "--username", "--accounts", "--profile", "--as", "--sign-key"] {
            #expect(
                broker.output.contains { $0.hasPrefix("  \(option) <") || $0.contains("\(option) <") },
                "\(option)")
        }
        let wrong = try await RunningCommand.run(["help", "brokr"])
        #expect(wrong.status == 64)
        #expect(
            wrong.errorLines == [
                "waypost: error: there is no help on brokr; did you mean broker? (see waypost --help)"
            ])
        let script = try await RunningCommand.run(["--generate-completion-script", "fish"]).output
        #expect(script.contains { $0.contains("ping") && $0.contains("password-file") })
    }

    @Test func `all commands stand in the help of the whole`() async throws {
        let ending = try await RunningCommand.run(["--help"])
        #expect(ending.status == 0)
        for command in Verbs.families {
            #expect(ending.output.contains { $0.hasPrefix("  \(command) ") }, "\(command)")
        }
    }

    @Test func `a misspelt option is named before what is missing without it`() async throws {
        let misspelt = try await RunningCommand.run(["open", "scheme://router/demo", "--agnet", "k1"])
        #expect(misspelt.status == 64)
        #expect(
            misspelt.errorLines.first
                == "waypost: error: there is no option --agnet; did you mean --agent? (see waypost open --help)"
        )
        let missing = try await RunningCommand.run(["open", "scheme://router/demo"])
        #expect(missing.status == 64)
        #expect(missing.errorLines.first?.contains("name the agent with --agent ID") == true)
    }

    @Test(
        arguments: [
            (["opne", "x"], "there is no command opne; did you mean open?"),
            (["profile", "ad"], "there is no command profile ad; did you mean add?"),
            (["frobnicate"], "there is no command frobnicate (see waypost --help)"),
            (["map", "undo", "--frob"], "there is no option --frob (see waypost map undo --help)"),
            (["open", "--hlep"], "there is no option --hlep; did you mean --help?"),
            (
                ["open", "a://b", "--agent", "k1", "--agent", "k2"],
                "--agent is given twice; it takes one value"
            ),
            (["open", "a://b", "--agent=k1", "--agent=k2"], "--agent is given twice; it takes one value"),
            (["open"], "Missing expected argument '<url>'"),
        ])
    func `what is wrong with a command line is said alike, with the near word`(
        _ arguments: [String], _ message: String
    ) async throws {
        let ending = try await RunningCommand.run(arguments)
        #expect(ending.status == 64)
        #expect(
            ending.errorLines.first?.hasPrefix("waypost: error: \(message)") == true, "\(ending.errorLines)")
    }

    @Test func `an option that may be repeated may be`() async throws {
        let ending = try await RunningCommand.run([
            "resolve", "--demo", "scheme://router/demo", "--param", "a=1", "--param", "b=2", "--param",
            "--param",
        ])
        #expect(!ending.errorLines.joined().contains("given twice"))
    }

    @Test(
        arguments: [
            ["dance"],
            ["open"],
            ["open", "scheme://router/demo"],
            ["open", "scheme://router/demo", "--agent", "k/1"],
            ["open", "scheme://router/demo", "--agent", "k1", "--group", "all"],
            ["open", "scheme://router/demo", "--agent", "k1", "--wait", "-1"],
            ["open", "scheme://router/demo", "--agent", "k1", "--param", "name"],
            ["open", "scheme://router/demo", "--agent", "k1", "--params", "{"],
            ["open", "scheme://router/demo", "--agent", "k1", "--params", "[1]"],
            ["open", "scheme://router/demo", "--agent", "k1", "--as", "a b"],
            ["open", "scheme://router/demo", "--agent", "k1", "--broker", "example.com"],
            ["open", "scheme://router/demo", "--agent", "k1", "--root", "a/#"],
            ["open", "scheme://router/demo", "--agent", "k1", "--mqtt", "4.2"],
            ["open", "scheme://router/demo", "--agent", "k1", "--password-file", "/nonexistent"],
            ["call", "CalculatorService", "--agent", "k1"],
            ["call", "CalculatorService", "add", "--args", "2", "--agent", "k1"],
            ["relocate", "--agent", "k1"],
            ["relocate", "--agent", "k1", "--from", "scheme://a"],
            ["relocate", "--agent", "k1", "--delete", "scheme://a", "--reset", "scheme://b"],
            ["open", "scheme://router/demo", "--agent", "k1", "--wait", "10x"],
            ["open", "scheme://router/demo", "--agent", "k1", "--expires", "31d"],
            ["log", "loud", "--agent", "k1"],
            ["log", "V", "--agent", "k1", "--for", "2h"],
            ["log", "V", "--agent", "k1", "--for", "0s"],
            ["replay"],
            ["replay", "--agent", "k1", "--since", "yesterday"],
            ["logcat", "--since", "10m", "--failures"],
            ["doctor", "--state", "/tmp"],
            ["doctor", "--local"],
            ["logcat", "--level", "loud"],
            ["logcat", "Router:loud"],
            ["agents", "--password", "secret"],
            ["agents", "--insecure"],
            ["agents", "--broker", "mqtt://ops:secret@127.0.0.1"],
            ["agent"],
            ["agent", "--agent", "k1", "--durability", "some"],
            ["agent", "--agent", "k1", "--log-level", "loud"],
            ["agent", "--agent", "k1", "--intake-rate", "-1"],
            ["agent", "--agent", "k1", "--commit-entries", "0"],
            ["agent", "--agent", "k1", "--keepalive", "4"],
            ["agent", "--agent", "k1", "--config", "/nonexistent.yaml"],
        ])
    func `wrong usage ends with 64 and says what is wrong on standard error`(_ arguments: [String])
        async throws
    {
        let ending = try await RunningCommand.run(arguments)
        #expect(ending.status == 64, "\(ending.errorLines)")
        #expect(ending.output.isEmpty)
        #expect(!ending.errorLines.isEmpty)
        #expect(!ending.errorLines.joined().contains("secret"))
    }

    @Test(
        arguments: [
            ["open", "scheme://router/demo", "--agent", "k1"], ["ping", "--agent", "k1"], ["agents"],
            ["logcat"], ["simulate"],
            ["relocate", "--agent", "k1", "--delete", "scheme://router/demo"],
        ])
    func `without a broker it ends with 4 and one clear line`(_ arguments: [String]) async throws {
        let broker = "mqtt://127.0.0.1:\(try FreePort.find())"
        let ending = try await RunningCommand.run(arguments + ["--broker", broker])
        #expect(ending.status == 4)
        #expect(ending.output.isEmpty)
        // On a slow machine the simulation says meanwhile how far it is.
        let lines = ending.errorLines.filter { !$0.hasSuffix(" agents up") }
        #expect(lines.count == 1)
        #expect(lines.first?.contains(broker) == true)
        #expect(lines.first?.contains("Connection refused") == true)
    }

    @Test func `a misspelt variable is reported, and one with another purpose is not`() async throws {
        let ending = try await RunningCommand.run(
            ["agents", "--broker", "mqtt://127.0.0.1:\(try FreePort.find())"],
            environment: ["WAYPOST_PASWORD_FILE": "/nonexistent", "WAYPOST_KIOSK_NAME": "lobby"])
        #expect(
            ending.errorLines.first
                == "waypost: warning: WAYPOST_PASWORD_FILE is not a setting; did you mean WAYPOST_PASSWORD_FILE?"
        )
        #expect(ending.errorLines.count == 2, "\(ending.errorLines)")
    }

    @Test func `with --json an error is one JSON line on standard output`() async throws {
        let broker = "mqtt://127.0.0.1:\(try FreePort.find())"
        let ending = try await RunningCommand.run(["ping", "--agent", "k1", "--json", "--broker", broker])
        #expect(ending.status == 4)
        #expect(ending.errorLines.isEmpty)
        let line = try #require(ending.output.first)
        #expect(try JSONValue(parsing: line)["error"]?["exit"] == 4)
    }

    @Test func `every option can come from the environment, and the command line wins`() async throws {
        let site = try await Site.open()
        func run(_ arguments: [String], _ variables: [String: String]) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(
                arguments, environment: variables.merging(["WAYPOST_BROKER": site.broker.url]) { $1 })
        }
        let agent = ["WAYPOST_AGENT": "k1", "WAYPOST_GROUP": "lobby,floor2"]
        #expect(try await run(["ping"], agent).output.first?.hasPrefix("k1") == true)
        // What an agent's own environment may have keeps no command from what it is told to do.
        let own = agent.merging(["WAYPOST_DEMO": "true", "WAYPOST_ROUTES": "x"]) { $1 }
        for words in [["routes"], ["routes", "--demo"], ["services"], ["describe", "agent", "k1"]] {
            #expect(try await run(words, own).status == 0, "\(words)")
        }
        let json = try await run(
            ["open", "scheme://router/demo"], agent.merging(["WAYPOST_JSON": "true"]) { $1 })
        #expect(json.status == 0 && json.output.first?.hasPrefix("{") == true)
        // What stands on the command line says all there is to say about the receiver.
        #expect(try await run(["ping", "--group", "all", "--wait=60s"], agent).status == 0)
        let other = try await run(["ping", "--agent", "nosuch", "--wait", "500ms"], agent)
        #expect(other.status == 3)
        let backend = try await Backend(broker: site.broker.url)
        try await backend.publish(
            #"{"state":"online","epoch":1,"boot":"B","why":"birth","agent":"k9","version":"1","mqtt":5}"#,
            to: "waypost/v1/k9/state", retain: true)
        await backend.disconnect()
        let late = try await run(["ping", "--agent", "k9"], ["WAYPOST_WAIT": "500ms"])
        #expect(late.errorLines.joined().contains("within 500 ms"))
        let wrong = try await run(["ping", "--agent", "k1"], ["WAYPOST_WAIT": "soon"])
        #expect(wrong.status == 64 && wrong.errorLines.joined().contains("WAYPOST_WAIT"))
        #expect(try await run(["ping", "--agent", "k1"], ["WAYPOST_JSON": "perhaps"]).status == 64)
        let quiet = try await run(["ping", "--agent", "k1"], ["WAYPOST_WAIT": "60s", "WAYPOST_FOLLOW": "x"])
        #expect(quiet.status == 0 && quiet.errorLines == [])
        #expect(try await site.agent.terminate() == 0)
    }
}

private protocol GroupOfOptions {
    static var options: any ParsableArguments.Type { get }
}

extension OptionGroup: GroupOfOptions {
    static var options: any ParsableArguments.Type { Value.self }
}
