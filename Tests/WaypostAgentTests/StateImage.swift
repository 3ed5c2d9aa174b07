import Foundation

@testable import WaypostAgent

/// A copy of a state directory, as kill -9 or a stop left it, which a test may damage.
struct StateImage: Sendable {
    let directory: String

    /// Of files that a running agent has open: kill -9 would leave the same, for all is written that will be.
    init(of directory: String) throws {
        self.directory = NSTemporaryDirectory() + "waypost-image-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: self.directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for name in try FileManager.default.contentsOfDirectory(atPath: directory)
        where !name.contains("sock") {
            try FileManager.default.copyItem(atPath: "\(directory)/\(name)", toPath: path(name))
        }
    }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    func copy() throws -> StateImage { try StateImage(of: directory) }

    func remove() { try? FileManager.default.removeItem(atPath: directory) }

    func bytes(_ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }

    func delete(_ names: String...) { for name in names { unlink(path(name)) } }

    func cut(_ name: String, at size: Int) { truncate(path(name), off_t(size)) }

    func zero(_ name: String, _ range: Range<Int>) throws {
        var bytes = try bytes(name)
        for place in range.clamped(to: bytes.indices) { bytes[place] = 0 }
        try write(bytes, to: name)
    }

    /// Puts a file of another image in the place of this one's.
    func take(_ names: String..., from other: StateImage) throws {
        for name in names {
            unlink(path(name))
            try? FileManager.default.copyItem(atPath: other.path(name), toPath: path(name))
        }
    }

    /// Every row of what must survive, as text; what each start writes anew is left out.
    func contents() throws -> [String] {
        let store = try Store(directory: directory)
        defer { store.close() }
        return try store.read(2) { transaction in
            try ["inbox", "outbox", "maps", "failures", "meta"].flatMap { table in
                let columns = try transaction.database.rows("SELECT name FROM pragma_table_info('\(table)')")
                {
                    "quote(\($0.text("name")))"
                }
                return try transaction.database.rows(
                    "SELECT \(columns.joined(separator: " || ' ' || ")) AS line FROM \(table) ORDER BY 1"
                ) { "\(table) \($0.text("line"))" }
            }
        }.filter { line in !["clean_stop", "epoch", "run"].contains { line.hasPrefix("meta '\($0)'") } }
    }
}
