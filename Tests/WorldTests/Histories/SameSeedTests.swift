import Foundation
import TestSupport
import Testing

/// What makes a finding of the world worth something: it can be had again.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct SameSeedTests {
    /// What one history came to: its digest, and how many steps and turns it had.
    private func history(_ kind: String, _ seed: UInt64, with variables: [String] = []) async throws -> String
    {
        let words = variables + [WorldTool.program, kind, "\(seed)"]
        let ending = try await Tool.run("env", words, hasErrors: true)
        #expect(ending.status == 0, "\(ending.output)")
        return ending.output
    }

    @Test(arguments: [("threads", 10), ("agent", 2), ("crashes", 2), ("fleet", 2)])
    func `a seed is one history, in each process`(kind: String, times: Int) async throws {
        let first = try await history(kind, 7)
        for _ in 2...times { #expect(try await history(kind, 7) == first) }
        // And the same where the system gives its threads their turns.
        #expect(try await history(kind, 7, with: ["WORLD_TURNS_BY_KERNEL=1"]) == first)
    }

    @Test func `without its durability an agent breaks its laws, and that is seen`() async throws {
        // Three parts that it may be without are left.
        let without = "backend,broker,certificates,clock,cut,forged,full,groups,lies,locally,refusal,rollouts"
        let few = ["--lives", "3", "--deeds", "6", "--without", without]
        for seed in 1...40 as ClosedRange<UInt64> {
            let ending = try await Tool.run(WorldTool.program, ["weak", "\(seed)"] + few)
            guard ending.status != 0 else { continue }
            #expect(ending.output.contains(": law"), "\(ending.output)")
            // A smaller one shows it too, and its command has it again.
            let small = try await Tool.run(WorldTool.program, ["weak", "\(seed)"] + few + ["--shrink"])
            #expect(small.status == 1 && small.output.contains(": law"), "\(small.output)")
            let last = try #require(small.output.split(separator: "\n").last)
            let words = last.split(separator: " ").map(String.init)
            #expect(words.prefix(3) == ["again:", "scripts/world", "--seed"] && words.last == "--notes")
            #expect(words[4...5] == ["--kind", "weak"])
            let again = try await Tool.run(
                WorldTool.program, ["weak", "\(seed)"] + words.dropFirst(6).dropLast())
            #expect(small.output.contains(again.output), "\(small.output)\n\(again.output)")
            return
        }
        Issue.record("forty histories hold what is promised only with full durability")
    }

    @Test func `some orders show a fault that others hide, and show it again`() async throws {
        var endings: [Int32: [UInt64]] = [:]
        for seed in 1...20 as ClosedRange<UInt64> {
            let ending = try await Tool.run(WorldTool.program, ["race", "\(seed)"])
            #expect(ending.output.contains("one was not counted") == (ending.status == 1))
            endings[ending.status, default: []].append(seed)
        }
        let (hidden, shown) = try (#require(endings[0]?.first), #require(endings[1]?.first))
        for (seed, status) in [(hidden, 0), (shown, 1)] as [(UInt64, Int32)] {
            #expect(try await Tool.run(WorldTool.program, ["race", "\(seed)"]).status == status)
        }
    }

    @Test(arguments: ["threads", "agent", "crashes"])
    func `other seeds are other histories, and hold what they must`(kind: String) async throws {
        var digests: Set<Substring> = []
        for seed in 100...101 as ClosedRange<UInt64> {
            let words = try await history(kind, seed).split(separator: " ")
            digests.insert(words.count > 2 ? words[2] : "")
        }
        #expect(digests.count == 2)
    }

    @Test(arguments: [
        [], ["agent"], ["agent", "x"], ["agents", "1"], ["agent", "-1"], ["agent", "1", "--note"],
        ["agent", "1", "--lives", "0"], ["agent", "1", "--deeds"], ["agent", "1", "--without", "cut,luck"],
        ["agent", "1", "--without", ""], ["agent", "--seconds", "0"],
        ["agent", "--seconds", "1", "--wide", "1"], ["--seeds", "/nowhere"],
    ])
    func `what it does not know it refuses`(words: [String]) async throws {
        let ending = try await Tool.run(WorldTool.program, words, hasErrors: true)
        #expect(ending.status == 64)
        let lines = ending.output.split(separator: "\n")
        #expect(lines.count == 4 && lines[0].hasPrefix("WorldProgram: "), "\(ending.output)")
    }

    @Test(arguments: [
        "x", "{}", #"{"kind":"crashes","seed":-1,"cause":""}"#, #"{"kind":"war","seed":1,"cause":""}"#,
    ])
    func `a line that is no seed is named`(line: String) async throws {
        let file = NSTemporaryDirectory() + "waypost-seeds-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let lines = #"{"kind":"threads","seed":1,"cause":"x"}"# + "\n\(line)\n"
        try Data(lines.utf8).write(to: URL(fileURLWithPath: file))
        let ending = try await Tool.run(WorldTool.program, ["--seeds", file], hasErrors: true)
        #expect(
            ending.status == 64 && ending.output.contains("\(file), line 2 is no seed"), "\(ending.output)")
    }
}
