import Glibc
import InMemoryTracing
import Tracing
import Waypost
import WaypostBackend
import WaypostTesting

/// What the spans of commands cost: the processor time of a command in µs, the median of the rounds, and how many spans it
/// has.
///
/// Backend, agent and broker are in this process, so that what the two ways differ by is that of both sides.
@main struct TraceBenchmark {
    private static let commands = 1_000

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, ["plain", "recorded"].contains(arguments[1]),
            let rounds = Int(arguments[2]),
            rounds > 0
        else {
            print("usage: TraceBenchmark plain|recorded ROUNDS")
            exit(64)
        }
        let tracer = WireTracer()
        if arguments[1] == "recorded" { InstrumentationSystem.bootstrap(tracer) }
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("bench://orders/:id", idempotent: true) { .opened($0.parameters["id"]) }
        var results: [Double] = []
        var spans = 0
        try await TestBackend.with { test in
            try await test.agent("k1", router: router)
            let client = test.backend.agent("k1")
            // The first round warms up.
            for round in 0...rounds {
                tracer.base.clearAll()
                let begin = processorTime()
                for number in 0..<commands { try await client.open("bench://orders/\(number)") }
                if round > 0 { results.append((processorTime() - begin) / Double(commands)) }
                spans = tracer.base.finishedSpans.count / commands
            }
        }
        results.sort()
        print("\(arguments[1])\t\(results[results.count / 2])\t\(spans)")
    }

    /// Of this process, in µs.
    private static func processorTime() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) {
            $0 + Double($1.tv_sec) * 1e6 + Double($1.tv_usec)
        }
    }
}
