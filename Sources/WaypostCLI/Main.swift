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

    private static func run() async -> Int32 {
        do {
            var command = try WaypostCommand.parseAsRoot()
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
            WaypostCommand.exit(withError: error)
        }
    }
}
