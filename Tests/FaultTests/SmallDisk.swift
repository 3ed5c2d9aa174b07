import Foundation
import TestSupport

/// A file system in memory with little room; takes the right to mount.
final class SmallDisk: Sendable {
    let path = NSTemporaryDirectory() + "waypost-disk-\(UUID().uuidString)"

    /// Whether this process may mount one: in a container often not even root may.
    static let isPossible: Bool = {
        guard let disk = try? SmallDisk(kibibytes: 64) else { return false }
        disk.end()
        return true
    }()

    struct Failure: Error {}

    init(kibibytes: Int) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard Self.run("mount", "-t", "tmpfs", "-o", "size=\(kibibytes)k", "tmpfs", path) == 0 else {
            try? FileManager.default.removeItem(atPath: path)
            throw Failure()
        }
    }

    /// Leaves no byte free, or so many pages of 4 KiB.
    func fill(leaving pages: UInt64 = 0) throws {
        let file = path + "/filler"
        try Data().write(to: URL(fileURLWithPath: file))
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        for size in [1 << 20, 4096] {
            let block = Data(repeating: 0, count: size)
            while (try? handle.write(contentsOf: block)) != nil {}
        }
        if pages > 0 { try handle.truncate(atOffset: handle.seekToEnd() - pages * 4096) }
        try handle.close()
    }

    func makeRoom() { try? FileManager.default.removeItem(atPath: path + "/filler") }

    /// Nothing on it can be written any more; no process may have a file of it open for that.
    func makeReadOnly() throws {
        guard Self.run("mount", "-o", "remount,ro", path) == 0 else { throw Failure() }
    }

    func end() {
        _ = Self.run("umount", "-l", path)
        try? FileManager.default.removeItem(atPath: path)
    }

    private static func run(_ command: String...) -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardError = FileHandle.nullDevice
        guard (try? withNoSignalBlocked { try process.run() }) != nil else { return -1 }
        process.waitUntilExit()
        return process.terminationStatus
    }
}
