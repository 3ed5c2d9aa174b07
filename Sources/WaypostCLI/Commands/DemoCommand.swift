import ArgumentParser
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

struct DemoCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Show it working in a few seconds: a broker, an agent, and a backend that controls it.",
        discussion: """
            Starts its own mosquitto on a free port of 127.0.0.1 and an agent with the demo's screens and services. \
            Then it acts as a backend: it opens screens, redirects, restores, repairs, adds and deletes paths, calls \
            services, and makes mistakes. It leaves nothing behind. The exit status is 0 when all went as expected, \
            else 1.

            Examples:
              waypost demo
              waypost demo --slow
            """)

    @Flag(help: "Wait 1.5 seconds after each step, so that you can read along.")
    var slow = false

    @OptionGroup var output: OutputOptions

    func perform() async throws {
        try Invocation.current.checkOwnsProcess(for: "demo")
        let processes = try ProcessGroupGuard()
        let unexpected: Int
        do {
            unexpected = try await play(processes)
        } catch {
            await processes.release()
            throw error
        }
        await processes.release()
        guard unexpected == 0 else { throw Exit.failed }
    }

    /// Plays the story; returns how many steps were not as expected.
    private func play(_ processes: ProcessGroupGuard) async throws -> Int {
        let demoOutput = DemoOutput(isJSON: output.isJSON, style: output.style)
        let started = MonotonicTime.instant
        let broker = try await PrivateBroker.start(in: processes)
        demoOutput.say(
            "The demo uses its own broker at \(broker.url) and its own agent, \(DemoAgent.name).")
        demoOutput.say("To watch it from another terminal: waypost logcat --broker \(broker.url)")
        demoOutput.title("0. The agent comes online")
        let settings = BackendConfiguration(localPort: broker.port, name: "backend")
        return try await BackendSession.with(
            settings, required: DemoBackend.filters(settings.topics)
        ) { session in
            let backend = DemoBackend(session, demoOutput)
            let agent = try DemoAgent.start(broker, in: processes)
            do {
                guard try await backend.listen(within: .seconds(30), until: { $0.isOnline }) else {
                    throw CommandError(.failed, "the agent did not come online: \(agent.lastLogLines)")
                }
                var run = DemoRun(
                    backend: backend, broker: broker, agent: agent, processes: processes, output: demoOutput,
                    pause: slow ? .milliseconds(1500) : .zero)
                try await run.play(DemoStory.chapters)
                _ = await run.agent.stop()
                summarise(run.tally, MonotonicTime.instant - started, demoOutput)
                return run.tally.unexpected
            } catch {
                _ = await agent.stop()
                throw error
            }
        }
    }

    private func summarise(_ tally: DemoTally, _ time: Duration, _ demoOutput: DemoOutput) {
        if output.isJSON { Terminal.print(json: tally.json) }
        demoOutput.title("Summary")
        demoOutput.say("  \(tally.text(after: time))")
        demoOutput.say(
            tally.unexpected == 0
                ? "  \(output.style.green("All went as expected."))"
                : "  \(output.style.red("\(tally.unexpected) steps were not as expected."))")
    }
}
