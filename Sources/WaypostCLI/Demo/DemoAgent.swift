import FoundationEssentials
import Glibc

/// The demo's agent: this very program, as an operator would start it.
struct DemoAgent: Sendable {
    static let name = "kiosk-1"

    private let process: ChildProcess
    private let log: String

    static func start(_ broker: PrivateBroker, in processes: ProcessGroupGuard) throws -> DemoAgent {
        let log = "\(processes.directory)/agent.log"
        let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let process = try ChildProcess(
            executable,
            [
                "agent", "--demo", "--agent", name, "--broker", broker.url,
                "--state", "\(processes.directory)/state",
            ],
            log: log, group: processes.group)
        return DemoAgent(process: process, log: log)
    }

    var hasEnded: Bool { process.hasEnded }

    /// The last it said.
    var lastLogLines: String { LogTail.read(log) }

    /// Stops it as systemd would; its exit status.
    func stop() async -> Int32 { await process.terminate() }
}
