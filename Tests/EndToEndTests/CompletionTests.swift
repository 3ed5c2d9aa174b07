import ArgumentParser
import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

@testable import WaypostCLI

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct CompletionTests {
    /// Whether a shell that is not on every machine is on this one.
    private static func has(_ shell: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(shell)")
        }
    }

    /// Runs a program with a script as its input: its status.
    private func status(of arguments: [String], input: String) async throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        let pipe = Pipe.forOneChild()
        process.standardInput = pipe
        let ends = EventLog<Int32>()
        process.terminationHandler = { ends.append($0.terminationStatus) }
        try withNoSignalBlocked { try process.run() }
        try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try pipe.fileHandleForWriting.close()
        return try await ends.first("the end of \(arguments)") { $0 }
    }

    /// The file with bash's script, which takes a while to make: one for all tests.
    private static let bash = Task {
        let path = NSTemporaryDirectory() + "waypost-\(UUID().uuidString).bash"
        let script = try await RunningCommand.run(["--generate-completion-script", "bash"]).output
        try script.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `the script for a shell is one, and knows all commands`(_ shell: String) async throws {
        let ending = try await RunningCommand.run(["--generate-completion-script", shell])
        #expect(ending.status == 0)
        let script = ending.output.joined(separator: "\n") + "\n"
        for command in Verbs.families {
            #expect(script.contains(command), "\(command)")
        }
        guard shell == "bash" || Self.has(shell) else { return }
        // -n reads the script and runs nothing of it.
        #expect(try await status(of: [shell, "-n"], input: script) == 0)
    }

    @Test(arguments: [("--agent", "k1"), ("--group", "all floor2 lobby")], [true, false])
    func `in bash, TAB offers the agents and groups that are there`(
        _ option: (name: String, offered: String), isOnLine: Bool
    ) async throws {
        let site = try await Site.open(["--demo", "--group", "lobby", "--group", "floor2"])
        let folder = CommandProcess.executable.deletingLastPathComponent().path
        // The broker is known from the environment, or stands on the line.
        let environment = isOnLine ? "" : "export WAYPOST_BROKER=\(site.broker.url)"
        let words = "waypost ping " + (isOnLine ? "--broker \(site.broker.url) " : "") + option.name
        // As bash does on TAB: it sets the words and the place in them, and calls the function.
        let script = """
            export PATH="\(folder):$PATH"
            \(environment)
            source '\(try await Self.bash.value)'
            COMP_WORDS=(\(words) ""); COMP_CWORD=\(words.split(separator: " ").count)
            COMP_LINE="\(words) "; COMP_POINT=${#COMP_LINE}
            _waypost waypost "" \(option.name)
            [ "$(printf '%s ' "${COMPREPLY[@]}")" = "\(option.offered) " ]
            """
        #expect(try await status(of: ["bash"], input: script) == 0)
    }

    /// Each option whose value is completed, with the first command that has it.
    private static let completing: [(words: [String], option: String)] = {
        var seen: Set<String> = []
        var found: [([String], String)] = []
        func look(_ command: JSONValue, _ before: [String]) {
            for child in command["subcommands"]?.arrayValue ?? [] {
                look(child, before + [child["commandName"]?.stringValue ?? ""])
            }
            for argument in command["arguments"]?.arrayValue ?? []
            where argument["kind"] == "option" && argument["completionKind"]?.isNull == false {
                for name in argument["names"]?.arrayValue ?? [] where name["kind"] == "long" {
                    let option = "--" + (name["name"]?.stringValue ?? "")
                    if seen.insert(option).inserted { found.append((before, option)) }
                }
            }
        }
        let help = try? JSONValue(parsing: Array(WaypostCommand._dumpHelp().utf8), limits: .trustedFile)
        look(help?["command"] ?? .null, [])
        return found
    }()

    @Test func `in bash, TAB offers the same behind = as in the next word, wherever = divides words`()
        async throws
    {
        #expect(Self.completing.count > 15, "\(Self.completing)")
        let folder = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder + "/d", withIntermediateDirectories: true)
        // In the place of what asks a broker.
        let stub =
            "#!/bin/sh\ncase $1 in ---completion) printf 'k1\\nk2\\n' ;; profile) printf '* p1\\n  p2\\n' ;; esac\n"
        try stub.write(toFile: folder + "/waypost", atomically: true, encoding: .utf8)
        chmod(folder + "/waypost", 0o755)
        try "x".write(toFile: folder + "/a.json", atomically: true, encoding: .utf8)
        let lines = Self.completing.map { words, option in
            "try '\(option)' \((["waypost"] + words).map { "'\($0)'" }.joined(separator: " "))"
        }
        let script = """
            cd '\(folder)'; export PATH="\(folder):$PATH"
            source '\(try await Self.bash.value)'
            tab() {
                COMP_WORDS=("${@:2}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
                COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
                _waypost waypost "$1" "${COMP_WORDS[COMP_CWORD - 1]}"
                printf '%s ' "${COMPREPLY[@]}"
            }
            bad=0
            try() {
                local -a before=("${@:2}")
                apart=$(tab '' "${before[@]}" "$1" '')
                divided=$(tab '' "${before[@]}" "$1" '=')
                more=$(tab 'k' "${before[@]}" "$1" '=' 'k')
                whole=$(tab "$1=" "${before[@]}" "$1=")
                wanted=$(for word in $apart; do printf '%s ' "$1=$word"; done)
                [ -n "$apart" ] && [ "$divided" = "$apart" ] && [ "$whole" = "$wanted" ] && [ "$more" = "$(
                    tab k "${before[@]}" "$1" k)" ] || { echo "$*: $apart | $divided | $whole | $more" >&2; bad=1; }
            }
            \(lines.joined(separator: "\n"))
            exit $bad
            """
        #expect(try await status(of: ["bash"], input: script) == 0)
    }

    @Test func `zsh is told that a value may stand behind =, for every option that has one`() async throws {
        let script = try await RunningCommand.run(["--generate-completion-script", "zsh"]).output
        let apart = script.filter { $0.contains(#/--[a-z-]+(\}')?\[(\\.|[^\]\\])*\]:/#) }
        #expect(apart.isEmpty, "\(apart.prefix(3))")
        #expect(script.count { $0.contains("=[") } > 100)
        guard Self.has("zsh") else { return }
        let text = script.joined(separator: "\n") + "\n"
        #expect(try await status(of: ["zsh", "-n"], input: text) == 0)
    }

    @Test(
        arguments: [
            (["open", ""], "scheme://router/user/:id"), (["call", ""], "LedgerService"),
            (["call", "CalculatorService", ""], "divide(a:by:)"),
            (["call", "CalculatorService", "add(a:b:)", "--args", ""], #"'{"a":,"b":}'"#),
            (["describe", ""], "CalculatorService"),
        ])
    func `in bash, TAB offers what the agent has`(_ words: [String], _ offered: String) async throws {
        let site = try await Site.open()
        let folder = CommandProcess.executable.deletingLastPathComponent().path
        let line = ["waypost"] + [words[0], "--agent", "k1"] + words.dropFirst()
        let quoted = line.map { "'\($0)'" }.joined(separator: " ")
        let script = """
            export PATH="\(folder):$PATH" WAYPOST_BROKER="\(site.broker.url)"
            source '\(try await Self.bash.value)'
            COMP_WORDS=(\(quoted)); COMP_CWORD=\(line.count - 1)
            COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
            _waypost waypost "" "\(line[line.count - 2])"
            printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -f <(cat <<'OFFERED'
            \(offered)
            OFFERED
            )
            """
        #expect(try await status(of: ["bash"], input: script) == 0)
    }

    @Test func `agents --names gives what completion offers`() async throws {
        let site = try await Site.open()
        let ending = try await site.run("agents", "--names")
        #expect(ending.status == 0)
        #expect(ending.output == ["k1"])
    }
}
