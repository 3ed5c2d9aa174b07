import Foundation

/// Certificates for one test, made with openssl: an authority, servers good and bad, a client, an unknown client.
///
/// In `directory`: `ca.pem`, `other-ca.pem`, and for each of `server`, `expired`, `elsewhere`, `client` a
/// `NAME.pem` and a `NAME.key`. The servers are for `localhost` and 127.0.0.1, except `elsewhere`.
public struct TestCertificates: Sendable {
    /// Where they are; remove it with `remove`.
    public let directory: String

    /// A copy of those that were made for the first who asked; openssl is on PATH, or this throws.
    public init() throws {
        directory = NSTemporaryDirectory() + "waypost-certificates-\(UUID().uuidString)"
        try FileManager.default.copyItem(atPath: Self.made.get().directory, toPath: directory)
    }

    private static let made = Result {
        try TestCertificates(in: NSTemporaryDirectory() + "waypost-certificates-of-\(getpid())")
    }

    private init(in directory: String) throws {
        self.directory = directory
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for name in ["ca", "other-ca"] {
            try openssl(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=\(name) "
                    + "-keyout \(name).key -out \(name).pem")
        }
        let here = "subjectAltName=DNS:localhost,IP:127.0.0.1"
        try issue("server", here, "-days 30")
        try issue("elsewhere", "subjectAltName=DNS:broker.example.com", "-days 30")
        try issue("client", "extendedKeyUsage=clientAuth", "-days 30")
        // `x509 -req` takes no dates of the past; `ca` does.
        try issue("expired", here, by: "ca", from: "20200101000000Z", to: "20210101000000Z")
    }

    /// Makes a client's certificate that is good from one time to another, in seconds from now.
    public func issueClient(
        _ name: String, from begin: Int, to end: Int, by authority: String = "ca"
    ) throws {
        func text(_ seconds: Int) -> String {
            let format = DateFormatter()
            (format.locale, format.timeZone) = (
                Locale(identifier: "en_US_POSIX"), TimeZone(secondsFromGMT: 0)
            )
            format.dateFormat = "yyyyMMddHHmmss'Z'"
            return format.string(from: Date(timeIntervalSinceNow: Double(seconds)))
        }
        try issue(
            name, "extendedKeyUsage=clientAuth", by: authority, from: text(begin), to: text(end))
    }

    /// The path of one of the files.
    public subscript(_ name: String) -> String { directory + "/" + name }

    /// Puts a copy of one under another name, replacing what is there.
    public func copy(_ name: String, to other: String) throws {
        try Data(contentsOf: URL(fileURLWithPath: self[name])).write(
            to: URL(fileURLWithPath: self[other]), options: .atomic)
    }

    /// The ways in which a key is encrypted.
    public enum Encryption: String, Sendable, CaseIterable {
        /// `ENCRYPTED PRIVATE KEY`, as `openssl genpkey` and `pkcs8` write it.
        case pkcs8 = "pkey"
        /// `EC PRIVATE KEY` with `Proc-Type: 4,ENCRYPTED`, as `openssl ec` and older programs write it.
        case traditional = "ec"
    }

    /// Puts a copy of a key under another name, encrypted with the passphrase `secret`.
    public func encrypt(_ name: String, to other: String, as encryption: Encryption) throws {
        try openssl("\(encryption.rawValue) -in \(name) -aes256 -passout pass:secret -out \(other)")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: self[other])
    }

    /// Puts a copy of a certificate under another name, that claims to be encrypted: whoever reads it needs a passphrase.
    public func claimEncryption(of name: String, to other: String) throws {
        let claim = """
            -----BEGIN CERTIFICATE-----
            Proc-Type: 4,ENCRYPTED
            DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF


            """
        let text = try String(contentsOfFile: self[name], encoding: .utf8)
        try Data(text.replacingOccurrences(of: "-----BEGIN CERTIFICATE-----\n", with: claim).utf8).write(
            to: URL(fileURLWithPath: self[other]), options: .atomic)
    }

    /// Removes them.
    public func remove() { try? FileManager.default.removeItem(atPath: directory) }

    private func issue(_ name: String, _ names: String, _ validity: String) throws {
        try request(name)
        try Data(names.utf8).write(to: URL(fileURLWithPath: self["\(name).ext"]))
        try openssl(
            "x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -CAcreateserial \(validity) "
                + "-extfile \(name).ext -out \(name).pem")
    }

    private func issue(
        _ name: String, _ names: String, by authority: String, from begin: String, to end: String
    ) throws {
        try request(name)
        try Data(names.utf8).write(to: URL(fileURLWithPath: self["\(name).ext"]))
        let configuration = """
            [ca]
            default_ca = test
            [test]
            database = \(self["index.txt"])
            serial = \(self["serial.txt"])
            new_certs_dir = \(directory)
            default_md = sha256
            policy = any
            [any]
            commonName = supplied
            """
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: self["ca.cnf"]))
        try Data().write(to: URL(fileURLWithPath: self["index.txt"]))
        try Data("1000\n".utf8).write(to: URL(fileURLWithPath: self["serial.txt"]))
        try openssl(
            "ca -batch -notext -config ca.cnf -cert \(authority).pem -keyfile \(authority).key -in \(name).csr "
                + "-extfile \(name).ext -startdate \(begin) -enddate \(end) -out \(name).pem")
    }

    private func request(_ name: String) throws {
        try openssl(
            "req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=\(name) "
                + "-keyout \(name).key -out \(name).csr")
    }

    private func openssl(_ arguments: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments.split(separator: " ").map(String.init)
        process.currentDirectoryURL = URL(fileURLWithPath: directory)
        let output = Pipe.forOneChild()
        process.standardOutput = output
        process.standardError = output
        try withNoSignalBlocked { try process.run() }
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw TestBroker.Failure(
                description: "openssl \(arguments): \(String(decoding: text, as: UTF8.self))")
        }
    }
}
