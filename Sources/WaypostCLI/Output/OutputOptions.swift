import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

/// How a command prints: for people, or for programs.
struct OutputOptions: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Print only JSON, one line per value.")
    var isJSON = false

    /// Colours for people at a terminal.
    var style: Style { Style(isOn: !isJSON && Terminal.hasColours) }
}

/// A command that an operator runs and waits for.
protocol OperatorCommand: AsyncParsableCommand {
    var output: OutputOptions { get }

    /// What the command does; throws ``CommandError`` when it can't, or ``Exit`` when it has said why.
    func perform() async throws
}

extension OperatorCommand {
    /// Runs the command; with `--json` its error is a JSON line on standard output, where that takes it.
    mutating func run() async throws {
        do {
            try await perform()
        } catch let caught {
            guard output.isJSON, let error = CommandError(caught) else { throw caught }
            let shown: [String: JSONValue] = [
                "exit": .int(Int64(error.exit.rawValue)), "detail": .string(error.description),
            ]
            // Of an error that is not about sending there is nothing to say.
            let isSent = (caught as? BackendError).map(\.isSent) ?? true
            Terminal.print(
                json: isSent ? ["error": .object(shown)] : ["error": .object(shown), "sent": false])
            if Terminal.hasFailed { throw error }
            throw error.exit
        }
    }
}

extension ArgumentVisibility {
    /// Of options that many commands share: they have a page of their own in the help, and shells complete them.
    static var shared: ArgumentVisibility {
        Invocation.current.words.contains { $0.hasPrefix("--generate-completion-script") }
            ? .default : .hidden
    }
}

extension CompletionKind {
    /// The profiles of this user.
    static let profiles = CompletionKind.shellCommand(
        "waypost profile list 2>/dev/null | cut -c 3- | cut -d ' ' -f 1")
}

extension TimeSpan: ExpressibleByArgument {
    /// As it would be typed: the default in the help.
    var defaultValueDescription: String {
        description.replacing(" min", with: "m").replacing(" ", with: "")
    }
}
