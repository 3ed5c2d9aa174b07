import Foundation
import TestSupport
import Threading

/// A mosquitto with the shipped configuration, and the passwords and rights that make-certs writes.
final class ShippedBroker: Sendable {
    static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    let broker: TestBroker
    private let secrets: String

    /// - Parameters:
    ///   - names: as for make-certs: `--agent`, `k1`, `--sender`, `ops`.
    ///   - change: makes other rules of the shipped ones.
    init(_ names: [String], rules change: ((String) -> String)? = nil) async throws {
        let secrets = NSTemporaryDirectory() + "waypost-secrets-\(UUID().uuidString)"
        self.secrets = secrets
        let made = try await Self.made(names)
        try FileManager.default.copyItem(atPath: made, toPath: secrets)
        if let change {
            let rules = secrets + "/broker/acl"
            let text = change(try String(contentsOfFile: rules, encoding: .utf8))
            // In its place: it belongs to who may read it.
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: rules))
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: Data(text.utf8))
            try file.close()
        }
        broker = try await TestBroker.start(try Self.configuration(secrets))
    }

    deinit {
        broker.end()
        try? FileManager.default.removeItem(atPath: secrets)
    }

    /// The options with which a client signs in under a name.
    func signIn(_ name: String) -> [String] {
        ["--broker", broker.url, "--username", name, "--password-file", passwordFile(name)]
    }

    /// All user names of a person have one.
    private func passwordFile(_ name: String) -> String {
        "\(secrets)/clients/\(name.prefix { $0 != "." })/password"
    }

    func password(_ name: String) throws -> String {
        try String(contentsOfFile: passwordFile(name), encoding: .utf8)
            .trimmingCharacters(in: .newlines)
    }

    /// What make-certs wrote for these names, once for all tests.
    ///
    /// Its files name their folder: they are read by a copy's path only.
    private static func made(_ names: [String]) async throws -> String {
        let directory = NSTemporaryDirectory() + "waypost-secrets-of-\(getpid())" + names.joined()
        let making = secretsBeingMade.withLock { making in
            let task =
                making[directory]
                ?? Task {
                    try await makeCertificates(directory, names)
                    return directory
                }
            making[directory] = task
            return task
        }
        return try await making.value
    }

    private static let secretsBeingMade = Guarded<[String: Task<String, any Error>]>([:])

    static func makeCertificates(_ directory: String, _ arguments: [String], _ environment: [String] = [])
        async throws
    {
        let ending = try await Tool.run(
            "env",
            environment + [
                "\(repository)/scripts/broker/make-certs", "--host", "127.0.0.1", "--out", directory,
            ]
                + arguments)
        guard ending.status == 0 else {
            throw TestBroker.Failure(description: "make-certs ended with \(ending.status): \(ending.output)")
        }
    }

    /// What holds for all listeners, and for the one without TLS, which the test's own line stands for.
    private static func configuration(_ secrets: String) throws -> [String] {
        let text = try String(
            contentsOfFile: "\(repository)/scripts/broker/mosquitto.conf", encoding: .utf8)
        var isWanted = true
        var lines: [String] = []
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasPrefix("listener ") {
                isWanted = line == "listener 1883"
            } else if isWanted, !line.hasPrefix("log_") {
                lines.append(
                    line.replacingOccurrences(of: "/mosquitto/config/secrets", with: "\(secrets)/broker")
                        .replacingOccurrences(of: "/mosquitto/data/", with: "@dir/"))
            }
        }
        return lines
    }
}
