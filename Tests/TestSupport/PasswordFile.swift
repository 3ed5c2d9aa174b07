import Foundation

extension TestBroker {
    /// A `password_file` with one user, made with mosquitto_passwd.
    public static func passwordFile(user: String, password: String) -> Result<String, any Error> {
        Result {
            let path = NSTemporaryDirectory() + "waypost-passwords-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: path) }
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = ["mosquitto_passwd", "-b", "-c", path, user, password]
            process.standardError = FileHandle.nullDevice
            try withNoSignalBlocked { try process.run() }
            process.waitUntilExit()
            guard process.terminationStatus == 0 else {
                throw Failure(description: "mosquitto_passwd ended with \(process.terminationStatus)")
            }
            return try String(contentsOfFile: path, encoding: .utf8)
        }
    }
}
