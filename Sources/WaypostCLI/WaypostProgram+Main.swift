import Glibc
import WaypostAgent

extension WaypostProgram {
    /// Runs the program with all that belongs to the process, and ends with its status.
    package static func main() async -> Never {
        // A reader that goes away, as in `waypost logcat | head -1`, is an answer of write and no reason to die.
        signal(SIGPIPE, SIG_IGN)
        // So is a file that may not grow further.
        signal(SIGXFSZ, SIG_IGN)
        Descriptor.fillStandard()
        // Not on the threads that all tasks share, see `AgentThreads`.
        let work = Task.detached(executorPreference: AgentThreads.pool) {
            await run(.process)
        }
        let watch = Task.detached(executorPreference: AgentThreads.pool) { await Signals.watch() }
        let status = await work.value
        watch.cancel()
        exit(status)
    }
}
