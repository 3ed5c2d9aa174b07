import ArgumentParser
import Glibc

/// Where the process begins: reads the command line, runs the command, and ends with its status.
@main
enum Main {
    static func main() async {
        // A reader that goes away, as in `waypost logcat | head -1`, is an answer of write and no reason to die.
        signal(SIGPIPE, SIG_IGN)
        let work = Task.detached { await run() }
        let watch = Task.detached { await Signals.watch { work.cancel() } }
        let status = await work.value
        watch.cancel()
        exit(status)
    }

    /// Prints the help that was asked for, or what is wrong with the command line; returns the exit status.
    private static func explain(_ error: any Error) -> Int32 {
        let status = WaypostCommand.exitCode(for: error)
        // It may quote what stood on the command line, and that may come from anywhere.
        let text = TerminalText(lines: WaypostCommand.fullMessage(for: error))
        if status.isSuccess { Terminal.print(text) } else { Terminal.note(text) }
        return status.rawValue
    }

    private static func run() async -> Int32 {
        do {
            var command = try await WaypostCommand.asyncParseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return Exit.ok.rawValue
        } catch let error as CommandError {
            Terminal.error(error.description)
            return error.exit.rawValue
        } catch let exit as Exit {
            return exit.rawValue
        } catch is CancellationError {
            return Signals.exit.rawValue
        } catch {
            return explain(error)
        }
    }
}
