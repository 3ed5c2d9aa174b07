import Foundation
import TestSupport
import Testing

/// What makes a finding of the world worth something: it can be had again.
@Suite(.aFewAtATime, .timeLimit(.minutes(20)))
struct SameSeedTests {
    private static let program: String = {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let name = "WorldProgram"
        while folder.path != "/",
            !FileManager.default.isExecutableFile(atPath: folder.appendingPathComponent(name).path)
        {
            folder.deleteLastPathComponent()
        }
        return folder.appendingPathComponent(name).path
    }()

    /// What one history came to: its digest, and how many steps and turns it had.
    private func history(_ kind: String, _ seed: UInt64) async throws -> String {
        let ending = try await Tool.run(Self.program, [kind, "\(seed)"], hasErrors: true)
        #expect(ending.status == 0, "\(ending.output)")
        return ending.output
    }

    @Test(arguments: [("threads", 10), ("agent", 10), ("crashes", 4)])
    func `a seed is one history, in each process`(kind: String, times: Int) async throws {
        let first = try await history(kind, 7)
        for _ in 2...times { #expect(try await history(kind, 7) == first) }
    }

    @Test func `without its durability an agent breaks its laws, and that is seen`() async throws {
        for seed in 1...30 as ClosedRange<UInt64> {
            let ending = try await Tool.run(Self.program, ["weak", "\(seed)"])
            guard ending.status != 0 else { continue }
            #expect(ending.output.contains(": law"), "\(ending.output)")
            return
        }
        Issue.record("thirty histories hold what is promised only with full durability")
    }

    @Test func `some orders show a fault that others hide, and show it again`() async throws {
        var endings: [Int32: [UInt64]] = [:]
        for seed in 1...20 as ClosedRange<UInt64> {
            let ending = try await Tool.run(Self.program, ["race", "\(seed)"])
            #expect(ending.output.contains("one was not counted") == (ending.status == 1))
            endings[ending.status, default: []].append(seed)
        }
        let (hidden, shown) = try (#require(endings[0]?.first), #require(endings[1]?.first))
        for (seed, status) in [(hidden, 0), (shown, 1)] as [(UInt64, Int32)] {
            #expect(try await Tool.run(Self.program, ["race", "\(seed)"]).status == status)
        }
    }

    @Test(arguments: ["threads", "agent", "crashes"])
    func `other seeds are other histories, and hold what they must`(kind: String) async throws {
        var digests: Set<Substring> = []
        for seed in 100..<105 as Range<UInt64> {
            let words = try await history(kind, seed).split(separator: " ")
            digests.insert(words.count > 2 ? words[2] : "")
        }
        #expect(digests.count == 5)
    }

    @Test(arguments: [
        [], ["agent"], ["agent", "x"], ["agents", "1"], ["agent", "-1"], ["agent", "1", "--note"],
    ])
    func `what it does not know it refuses`(words: [String]) async throws {
        let ending = try await Tool.run(Self.program, words, hasErrors: true)
        #expect(ending.status == 64)
        #expect(ending.output == "usage: WorldProgram threads|race|agent|crashes|weak SEED [--notes]\n")
    }
}
