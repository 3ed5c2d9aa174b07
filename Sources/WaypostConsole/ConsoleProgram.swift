import ArgumentParser
import Glibc
import WaypostBackend

/// The program, from its command line to its exit status.
package enum ConsoleProgram {
    package static func main() async -> Never {
        signal(SIGPIPE, SIG_IGN)
        Descriptor.fillStandard()
        let status = await run()
        _ = Terminal.finish()
        Terminal.flushNotes()
        exit(status)
    }

    private static func run() async -> Int32 {
        do {
            #if Console
            let command = try ConsoleCommand.parse()
            try await command.run()
            return Exit.ok.rawValue
            #else
            throw CommandError(
                .failed,
                "this program was built without the console; build it with: swift build --traits default,Console"
            )
            #endif
        } catch is CancellationError {
            return Signals.exit.rawValue
        } catch {
            if let error = CommandError(error) {
                Terminal.error(error.description)
                return error.exit.rawValue
            }
            #if Console
            let text = ConsoleCommand.fullMessage(for: error, columns: Terminal.helpWidth)
            let code = ConsoleCommand.exitCode(for: error).rawValue
            guard code != 0 else {
                Terminal.print(TerminalText(lines: text))
                return code
            }
            let words = CommandLine.arguments.dropFirst()
            if let fault = CommandOption.unknown(
                in: words, CommandOption.all(of: ConsoleCommand.self), of: "waypost-console")
            {
                Terminal.error(fault)
            } else {
                Terminal.note(
                    TerminalText(
                        lines: text.replacing("Error: ", with: "waypost: error: ", maxReplacements: 1)))
            }
            return code
            #else
            return Exit.failed.rawValue
            #endif
        }
    }
}
