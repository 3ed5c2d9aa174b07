import ArgumentParser
import Waypost
import WaypostMessages

struct DemoCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "See it all in a few seconds: a broker, an agent, and a backend that drives it.",
        discussion: """
            Starts a mosquitto of its own on a free port of 127.0.0.1, an agent with the demo's screens and \
            services, and plays a backend: it opens, redirects, restores, repairs, adds, deletes, calls services \
            and makes mistakes. Nothing is left behind. Status 0 when all went as expected, else 1.

            Examples:
              waypost demo
              waypost demo --slow
            """)

    @Flag(help: "Rest a second and a half after each step, to read along.")
    var slow = false

    @OptionGroup
    var output: OutputOptions

    func perform() async throws {
        let leash = try Leash()
        let surprises: Int
        do {
            surprises = try await play(leash)
        } catch {
            await leash.release()
            throw error
        }
        await leash.release()
        guard surprises == 0 else { throw Exit.failed }
    }

    /// Plays the story; returns how many steps were not as expected.
    private func play(_ leash: Leash) async throws -> Int {
        let teller = DemoOutput(isJSON: output.isJSON, style: output.style)
        let started = ContinuousClock.now
        let broker = try await PrivateBroker.start(in: leash)
        teller.say("A broker at \(broker.url) and an agent named \(DemoAgent.name), both of the demo's own.")
        teller.say("Look over its shoulder from another terminal: waypost logcat --broker \(broker.url)")
        teller.title("0. The agent comes online")
        let settings = BrokerSettings(localPort: broker.port)
        return try await OperatorSession.with(
            settings, as: "backend", required: DemoBackend.filters(settings.topics)
        ) { session in
            let backend = DemoBackend(session, teller)
            let agent = try DemoAgent.start(broker, in: leash)
            do {
                guard try await backend.listen(within: .seconds(30), until: { $0.isOnline }) else {
                    throw Complaint(.failed, "the agent did not come online: \(agent.lastWords)")
                }
                var run = DemoRun(
                    backend: backend, broker: broker, agent: agent, leash: leash, output: teller,
                    pause: slow ? .milliseconds(1500) : .zero)
                try await run.play(DemoStory.chapters)
                _ = await run.agent.stop()
                summarise(run.tally, ContinuousClock.now - started, teller)
                return run.tally.surprises
            } catch {
                _ = await agent.stop()
                throw error
            }
        }
    }

    private func summarise(_ tally: DemoTally, _ time: Duration, _ teller: DemoOutput) {
        if output.isJSON { Terminal.print(bytes: tally.json.serialized()) }
        teller.title("In all")
        teller.say("  " + tally.text(after: time))
        teller.say(
            tally.surprises == 0
                ? "  \(output.style.green("All went as expected."))"
                : "  \(output.style.red("\(tally.surprises) steps were not as expected."))")
    }
}
