import Foundation
import TestSupport
import Testing
import WaypostMessages

@testable import WaypostBackend

/// Commands that must be done once, in a folder.
@Suite struct SealedCommandStoreTests {
    private static func folder() -> String { NSTemporaryDirectory() + "waypost-sealed-\(UUID().uuidString)" }

    private static func command(_ id: String, to agent: String = "k1", lives: Int64 = 60_000) throws
        -> SealedCommand
    {
        let command = Command(sending: .open(url: "a://b?id=\(id)", parameters: [:]), id: id, lifetime: lives)
        return try SealedCommand(command, to: agent, from: "shop", signer: nil)
    }

    @Test func `what was stored is there again, the first to expire first, until it is removed`() throws {
        let folder = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try SealedCommandStore(folder: folder)
        let (late, soon) = (
            try Self.command("c1", lives: 80_000), try Self.command("c2", to: "k2", lives: 40_000)
        )
        try store.insert(late)
        try store.insert(soon)
        try store.insert(late)
        let again = try SealedCommandStore(folder: folder)
        #expect(try again.commands() == [soon, late])
        let mode = try FileManager.default.attributesOfItem(atPath: folder + "/k1.c1.json")[.posixPermissions]
        #expect(mode as? Int == 0o600)
        try again.remove(soon)
        try again.remove(soon)
        #expect(try store.commands() == [late])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["k1.c1.json"])
    }

    @Test func `a file that is no command, or another one, is named and left as it is`() throws {
        let folder = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try SealedCommandStore(folder: folder)
        try store.insert(Self.command("c1"))
        try FileManager.default.moveItem(atPath: folder + "/k1.c1.json", toPath: folder + "/k1.c2.json")
        try Data("{".utf8).write(to: URL(fileURLWithPath: folder + "/k1.c3.json"))
        // What a process that was killed left of one that it had not stored.
        try Data("{".utf8).write(to: URL(fileURLWithPath: folder + "/k1.c4.json.abc"))
        var damaged: [String] = []
        #expect(try store.commands { damaged.append($0) } == [])
        #expect(damaged == [folder + "/k1.c2.json", folder + "/k1.c3.json"])
    }

    @Test func `where nothing can be stored nothing is sent, and one sentence says why`() throws {
        let folder = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data().write(to: URL(fileURLWithPath: folder))
        let refused = #expect(throws: BackendError.self) { try SealedCommandStore(folder: folder) }
        #expect(refused?.kind == .invalid && refused?.description.hasSuffix("Not a directory") == true)
        try FileManager.default.removeItem(atPath: folder)
        let store = try SealedCommandStore(folder: folder)
        try FileManager.default.removeItem(atPath: folder)
        let missing = #expect(throws: BackendError.self) { try store.insert(Self.command("c1")) }
        #expect(
            missing?.kind == .notSent && missing?.description.contains("/k1.c1.json") == true,
            "\(missing?.description ?? "")")
    }
}
