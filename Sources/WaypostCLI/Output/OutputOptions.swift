import ArgumentParser
import Glibc
import Waypost

/// How a command prints: for people, or for programs.
struct OutputOptions: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Print JSON, one line a value, and nothing else.")
    var isJSON = false

    /// Colours for people at a terminal.
    var style: Style { Style(isOn: !isJSON && Terminal.wantsColours(STDOUT_FILENO)) }
}

/// A command that an operator runs and waits for.
protocol OperatorCommand: AsyncParsableCommand {
    var output: OutputOptions { get }

    /// What the command does; throws ``Complaint`` when it can't, or ``Exit`` when it has said why.
    func perform() async throws
}

extension OperatorCommand {
    /// Runs the command; what it complains about also goes to standard output as JSON where that was asked for.
    mutating func run() async throws {
        do {
            try await perform()
        } catch let complaint as Complaint where output.isJSON {
            let error: JSONValue = [
                "exit": .int(Int64(complaint.exit.rawValue)), "detail": .string(complaint.description),
            ]
            Terminal.print(bytes: JSONValue.object(["error": error]).serialized())
            throw complaint.exit
        }
    }
}
