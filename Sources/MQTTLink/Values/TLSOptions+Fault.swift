import Glibc

extension TLSOptions {
    /// What is wrong with the files, or with the name of a protocol; nil when nothing is that shows before they are
    /// used.
    package var fault: String? {
        if let alpn, !(1...255).contains(alpn.utf8.count) || alpn.utf8.contains(0) {
            return "the application protocol \(alpn.debugDescription) must have 1 to 255 bytes, and no NUL"
        }
        for (file, purpose) in [
            (caFile, "CA file"), (certificateFile, "certificate file"), (keyFile, "key file"),
        ] {
            guard let file else { continue }
            if let fault = Self.fault(ofFile: file) { return "the \(purpose) \(file) \(fault)" }
        }
        guard let keyFile, Self.isEncrypted(keyFile) else { return nil }
        return "the key file \(keyFile) is encrypted; it must be one without a passphrase: "
            + "openssl pkey -in \(keyFile) -out NEW-FILE"
    }

    /// A pipe would keep its reader waiting, and has nothing for the next connect.
    private static func fault(ofFile path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            return "can't be read: \(String(cString: strerror(errno)))"
        }
        return status.st_mode & S_IFMT == S_IFREG ? nil : "is no regular file, and it is read on each connect"
    }

    /// Whether the first private key in a file is encrypted, in either of PEM's forms: `ENCRYPTED PRIVATE KEY`
    /// (RFC 5958), or `Proc-Type: 4,ENCRYPTED` below `RSA PRIVATE KEY` and the like (RFC 1421).
    private static func isEncrypted(_ path: String) -> Bool {
        guard let file = fopen(path, "re") else { return false }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        var isBelowKey = false
        // No key is as long; what comes later is not looked at.
        for _ in 0..<10_000 {
            guard fgets(&buffer, Int32(buffer.count), file) != nil else { return false }
            let line = String(decoding: buffer.prefix { $0 >= 0x20 }.map(UInt8.init), as: UTF8.self)
            if isBelowKey { return line.hasPrefix("Proc-Type:") && line.contains("ENCRYPTED") }
            guard line.hasPrefix("-----BEGIN "), line.contains("PRIVATE KEY-----") else { continue }
            if line.contains("ENCRYPTED") { return true }
            isBelowKey = true
        }
        return false
    }
}
