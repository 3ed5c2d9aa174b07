import ArgumentParser
import Threading
import WaypostAgent

/// The program, from its command line to its exit status.
package enum WaypostProgram {
    /// Runs the command that an invocation names; returns the exit status once all is printed.
    package static func run(_ invocation: Invocation) async -> Int32 {
        await Invocation.$current.withValue(invocation) {
            // Not on the threads that all tasks share, see `AgentThreads`.
            let work = Task(executorPreference: AgentThreads.pool) { await perform(invocation.words) }
            invocation.signals.whenFirst { work.cancel() }
            let status = await work.value
            let loss = Terminal.finish()
            if let loss { Terminal.error(loss) }
            Terminal.flushNotes()
            invocation.accounts.withLock { $0 = [:] }
            return loss != nil && status == Exit.ok.rawValue ? Exit.failed.rawValue : status
        }
    }

    private static func perform(_ words: [String]) async -> Int32 {
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
            guard let error = CommandError(error) else { return explain(error, words) }
            Terminal.error(error.description)
            return error.exit.rawValue
        }
    }

    /// Prints the help that was asked for, or what is wrong with the command line; returns the exit status.
    private static func explain(_ error: any Error, _ words: [String]) -> Int32 {
        let message = WaypostCommand.fullMessage(for: error, columns: Terminal.helpWidth)
        let begin = "Error: "
        // Only of an error: the parser writes the whole page, or the whole script, once more to say how it ends.
        let status = message.hasPrefix(begin) ? WaypostCommand.exitCode(for: error) : .success
        // It may quote what stood on the command line, and that may come from anywhere.
        guard !status.isSuccess else {
            let text =
                CompletionScript.isWanted(by: words)
                ? CompletionScript(message).text : HelpPage(message, words: words).text
            Terminal.print(TerminalText(lines: text))
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
}
