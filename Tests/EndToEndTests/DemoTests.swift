import Foundation
import TestSupport
import Testing
import Waypost

@testable import WaypostCLI

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct DemoTests {
    /// A directory for the demo's own, to see that nothing is left in it.
    private struct Place: ~Copyable {
        let path = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)"

        init() throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        var content: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }
    }

    @Test func `the demo tells the whole story, ends with 0 and leaves nothing behind`() async throws {
        let place = try Place()
        let ending = try await CommandProcess.run(["demo"], environment: ["TMPDIR": place.path])
        #expect(ending.status == 0, "\(ending.output.suffix(20)) \(ending.errorLines)")
        #expect(ending.output.last == "  All went as expected.")
        #expect(ending.output.contains { $0.contains("404 NO_ROUTE") })
        #expect(ending.output.contains { $0.contains("I Router  : opened") })
        #expect(place.content.isEmpty)
    }

    @Test func `with --json it is a line a step and a summary`() async throws {
        let ending = try await CommandProcess.run(["demo", "--json"])
        #expect(
            ending.status == 0, "\(ending.output.filter { $0.contains("\"ok\":false") }) \(ending.errorLines)"
        )
        let lines = try ending.output.map { try JSONValue(parsing: $0) }
        // All steps of all chapters, and the summary.
        #expect(lines.count == 1 + DemoStory.chapters.reduce(0) { $0 + $1.steps.count })
        #expect(lines.dropLast().allSatisfy { $0["ok"] == true })
        #expect(lines.last?["unexpected"] == 0)
    }

    @Test(arguments: [(SIGINT, Int32(130)), (SIGTERM, Int32(143))])
    func `a signal ends the demo in the middle, and it cleans up`(_ signal: Int32, _ status: Int32)
        async throws
    {
        let place = try Place()
        // Slowly, or it may be through before this test has its turn.
        let demo = try CommandProcess(["demo", "--slow"], environment: ["TMPDIR": place.path])
        try await demo.printed("1. ")
        #expect(place.content.count == 1)
        demo.send(signal: signal)
        #expect(try await demo.ending().status == status)
        #expect(place.content.isEmpty)
        #expect(try processes(mentioning: place.path).isEmpty)
    }

    /// A demo that finds one in /usr/sbin has no error to report.
    @Test(.enabled(if: !FileManager.default.isExecutableFile(atPath: "/usr/sbin/mosquitto")))
    func `without mosquitto the demo says how to get it`() async throws {
        let ending = try await CommandProcess.run(["demo"], environment: ["PATH": "/nonexistent"])
        #expect(ending.status == 1)
        #expect(ending.errorLines.last?.contains("apt-get install mosquitto") == true)
    }

    /// The command lines of running processes that name a path.
    private func processes(mentioning path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }.compactMap {
            id in
            let bytes = try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(id)/cmdline"))
            let line = bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
            return line.contains(path) ? line : nil
        }
    }
}
