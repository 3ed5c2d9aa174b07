import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// The audit of roll-outs in a file of the operator's.
struct RolloutAuditFileTests {
    /// A chain of so many entries.
    private func chain(_ count: Int, id: String = "r-1") -> [[UInt8]] {
        var trail = RolloutTrail()
        let control = RolloutControl(
            id: id, epoch: 1, sequence: 1, audience: "@lobby", at: 0, base: nil,
            next: .init(revision: 1, digest: "sha256:x"), stages: RolloutStage.standard)
        return (0..<count).map { number in
            trail.append("stage", of: control, by: "ops", why: nil, evidence: nil, at: Int64(number))
                .encoded()
        }
    }

    private func lines(_ path: String) throws -> [[UInt8]] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path))).split(separator: 10).map(Array.init)
    }

    private func history(_ path: String) throws -> RolloutHistory { RolloutHistory(try lines(path)) }

    @Test func `what the broker keeps and the file lacks is appended, and nothing twice`() throws {
        let scratch = try ScratchFile("", name: "audit.jsonl")
        let entries = chain(5)
        var file = try RolloutAuditFile(scratch.path)
        for entry in entries[..<2].reversed() { try file.saw(entry) }
        try file.flush()
        var again = try RolloutAuditFile(scratch.path)
        #expect(again.payloads == Array(entries[..<2]))
        for entry in entries + entries { try again.saw(entry) }
        try again.flush()
        try again.flush()
        #expect(try lines(scratch.path) == entries)
        #expect(try history(scratch.path).isWhole)
    }

    @Test func `a disk that takes nothing is said, and what waits is written when it takes something again`()
        throws
    {
        let folder = NSTemporaryDirectory() + "waypost-audit-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/audit.jsonl"
        let entries = chain(6)
        var file = try RolloutAuditFile(path)
        #expect(file.keep(Array(entries[..<2])) == nil)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for entry in entries[2..<4] { #expect(file.keep([entry])?.kind == .invalid) }
        // Nothing is forgotten by what is no entry.
        #expect(file.keep([Array("nonsense".utf8)]) != nil)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        #expect(file.keep([entries[4]]) == nil)
        #expect(try lines(path) == Array(entries[..<5]))
        // Another entry in the place of one of its own is never in it, and that is said to the end.
        #expect(file.keep([chain(3, id: "r-2")[2]]) != nil)
        #expect(file.keep([entries[5]]) != nil)
        #expect(try lines(path) == entries)
    }

    @Test func `what is no file is refused, and not read for ever`() throws {
        for path in ["/dev/zero", "/dev/full", "/dev/null", NSTemporaryDirectory()] {
            #expect(throws: BackendError.self) { try RolloutAuditFile(path) }
        }
    }

    @Test func `a gap in the file is filled by what the broker keeps`() throws {
        let entries = chain(5)
        let scratch = try ScratchFile(
            bytes: [0, 1, 4].flatMap { entries[$0] + [10] }, name: "audit.jsonl")
        var file = try RolloutAuditFile(scratch.path)
        try file.begin(with: entries)
        #expect(try history(scratch.path).isWhole)
        // One that was overwritten at the broker does not keep the file from its group.
        var forged = entries
        forged[3] = chain(4, id: "r-2")[3]
        try file.begin(with: forged)
        #expect(throws: BackendError.self) { try file.begin(with: chain(4, id: "r-2")) }
    }

    @Test func `an entry that was half written is written again`() throws {
        let entries = chain(3)
        let torn = entries[..<2].flatMap { $0 + [10] } + entries[2].prefix(20)
        let scratch = try ScratchFile(bytes: torn, name: "audit.jsonl")
        var file = try RolloutAuditFile(scratch.path)
        for entry in entries { try file.saw(entry) }
        try file.flush()
        #expect(try lines(scratch.path) == entries)
    }

    @Test func `a last line without its end stays, and the next one begins behind it`() throws {
        let entries = chain(3)
        let scratch = try ScratchFile(
            bytes: Array(entries[..<2].joined(separator: [10])), name: "audit.jsonl")
        var file = try RolloutAuditFile(scratch.path)
        try file.saw(entries[2])
        try file.flush()
        #expect(try lines(scratch.path) == entries)
    }

    @Test func `who reads while an entry is written sees the whole ones, and no fault`() throws {
        let entries = chain(3)
        let whole: [UInt8] = entries.flatMap { $0 + [10] }
        for length in 0...whole.count {
            let history = RolloutHistory(file: Array(whole.prefix(length)))
            let ends = entries.indices.count { length >= entries[...$0].reduce(-1) { $0 + $1.count + 1 } }
            #expect(history.isWhole && history.entries.count == ends, "\(length): \(history.faults)")
        }
        // Not at its end, and not something else at its end.
        #expect(!RolloutHistory(file: Array(whole.dropFirst(9))).isWhole)
        #expect(!RolloutHistory(file: whole + Array("hello".utf8)).isWhole)
    }

    @Test func `two that write one file beside each other leave whole lines, and no entry is cut`()
        async throws
    {
        let scratch = try ScratchFile("", name: "audit.jsonl")
        let (path, entries) = (scratch.path, chain(40))
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { @Sendable in
                    for count in 1...entries.count {
                        var file = try RolloutAuditFile(path)
                        for entry in entries[..<count] { try file.saw(entry) }
                        try file.flush()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try history(scratch.path).isWhole)
        #expect(try Set(lines(scratch.path)) == Set(entries))
    }

    @Test func `a file of another group, or of something else, is refused and stays as it is`() throws {
        let scratch = try ScratchFile(bytes: chain(2).flatMap { $0 + [10] }, name: "audit.jsonl")
        var file = try RolloutAuditFile(scratch.path)
        let other = chain(2, id: "r-2")
        #expect(throws: BackendError.self) { try file.saw(other[1]) }
        for text in ["hello", "{}\n", "[1]\n{\"n\":1}", #"{"type":"map","rev":1}"#] {
            let wrong = try ScratchFile(text, name: "notes.txt")
            #expect(throws: BackendError.self) { try RolloutAuditFile(wrong.path) }
            #expect(try String(contentsOfFile: wrong.path, encoding: .utf8) == text)
        }
        #expect(throws: BackendError.self) { try RolloutAuditFile("/nonexistent/audit.jsonl") }
    }
}
