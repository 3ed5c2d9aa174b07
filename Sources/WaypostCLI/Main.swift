import ArgumentParser
import Glibc
import WaypostAgent

/// Where the process begins: reads the command line, runs the command, and ends with its status.
@main
enum Main {
    static func main() async {
        // A reader that goes away, as in `waypost logcat | head -1`, is an answer of write and no reason to die.
        signal(SIGPIPE, SIG_IGN)
        // So is a file that may not grow further.
        signal(SIGXFSZ, SIG_IGN)
        Descriptor.fillStandard()
        // Not on the threads that all tasks share, see `AgentThreads`.
        let work = Task.detached(executorPreference: AgentThreads.pool) { await run() }
        let watch = Task.detached(executorPreference: AgentThreads.pool) {
            await Signals.watch { work.cancel() }
        }
        let status = await work.value
        watch.cancel()
        let loss = Terminal.finish()
        if let loss { Terminal.error(loss) }
        Terminal.flushNotes()
        exit(loss != nil && status == Exit.ok.rawValue ? Exit.failed.rawValue : status)
    }

    /// Prints the help that was asked for, or what is wrong with the command line; returns the exit status.
    private static func explain(_ error: any Error) -> Int32 {
        let message = WaypostCommand.fullMessage(for: error)
        let begin = "Error: "
        // Only of an error: the parser writes the whole page, or the whole script, once more to say how it ends.
        let status = message.hasPrefix(begin) ? WaypostCommand.exitCode(for: error) : .success
        // It may quote what stood on the command line, and that may come from anywhere.
        guard !status.isSuccess else {
            Terminal.print(TerminalText(lines: HelpPage(message, words: words).text))
            return status.rawValue
        }
        if let fault = CommandLineCheck(words: words).unknownOption() {
            Terminal.error(fault)
        } else {
            let text =
                message.hasPrefix(begin) ? "waypost: error: " + message.dropFirst(begin.count) : message
            Terminal.note(TerminalText(lines: text))
        }
        return status.rawValue
    }

    /// The command line behind the program's name.
    private static var words: [String] { Array(CommandLine.arguments.dropFirst()) }

    private static func run() async -> Int32 {
        // Before its first word: a reader that stalls when a machine starts must not keep it from starting.
        if words.first == AgentCommand.configuration.commandName {
            let isJSON = words.contains("--json")
            Terminal.queueNotes { PlainLogHandler.loss(of: $0, isJSON: isJSON) }
        }
        do {
            if let fault = CommandLineCheck(words: words).fault() { throw CommandError(.usage, fault) }
            EnvironmentOptions.warnOfTypos()
            let options = try EnvironmentOptions(words)
            var command: any ParsableCommand
            do {
                command = try await WaypostCommand.asyncParseAsRoot(options.words)
            } catch  where !options.variables.isEmpty && !WaypostCommand.exitCode(for: error).isSuccess {
                Terminal.note("waypost: set by the environment: \(options.variables.joined(separator: ", "))")
                throw error
            }
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return Exit.ok.rawValue
        } catch let exit as Exit {
            return exit.rawValue
        } catch is CancellationError {
            return Signals.exit.rawValue
        } catch {
            guard let error = CommandError(error) else { return explain(error) }
            Terminal.error(error.description)
            return error.exit.rawValue
        }
    }
}
