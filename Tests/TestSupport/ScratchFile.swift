import Foundation

/// A file for one test.
public struct ScratchFile: ~Copyable {
    /// It is removed when the value goes.
    public let path: String

    /// With this text.
    public init(_ text: String, name: String = "file", mode: Int = 0o600) throws {
        try self.init(bytes: Array(text.utf8), name: name, mode: mode)
    }

    /// With these bytes, and the rights of `mode`.
    public init(bytes: [UInt8], name: String = "file", mode: Int = 0o600) throws {
        path = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)-\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    deinit { unlink(path) }
}
