import Foundation
import TestSupport
import Testing

/// What the world has found once, and what it finds now.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct NewSeedTests {
    @Test func `what broke a law once does not break it again`() async throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Seeds.jsonl").path
        let ending = try await Tool.run(WorldTool.program, ["--seeds", file], hasErrors: true)
        #expect(ending.status == 0, "\(ending.output)")
        #expect(ending.output.contains("histories"))
    }

    /// A moment of them in each run of the tests, and as long as the world may take for a change that is to be found.
    @Test func `new seeds hold the laws`() async throws {
        let isMutant = ProcessInfo.processInfo.environment["WAYPOST_MUTANT"] != nil
        let ending = try await Tool.run(
            WorldTool.program,
            ["crashes,fleet", "--seconds", isMutant ? "60" : "1", "--width", isMutant ? "2" : "1"],
            hasErrors: true)
        #expect(ending.status == 0, "\(ending.output)")
    }
}

enum WorldTool {
    static let program: String = {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let name = "WorldProgram"
        while folder.path != "/",
            !FileManager.default.isExecutableFile(atPath: folder.appendingPathComponent(name).path)
        {
            folder.deleteLastPathComponent()
        }
        return folder.appendingPathComponent(name).path
    }()
}
