import WaypostMessages

/// A key in a file and the name that signatures give it: `ID=FILE`, or a file whose name is the name.
struct KeyFile {
    let id: String
    let path: String

    init(_ text: String) {
        if let mark = text.firstIndex(of: "="), mark != text.startIndex {
            id = String(text[..<mark])
            path = String(text[text.index(after: mark)...])
        } else {
            path = text
            let name = text.split(separator: "/").last.map(String.init) ?? text
            id = name.split(separator: ".").first.map(String.init) ?? name
        }
    }

    /// The public key in a file that only we can write.
    ///
    /// - Throws: ``CommandError`` 64 naming the file.
    func readPublic(purpose: String) throws(CommandError) -> String {
        try read(purpose, isSecret: false, KeyError.init(privateKey:))
    }

    /// The private key in a file that others can't even read.
    ///
    /// - Throws: ``CommandError`` 64 naming the file.
    func readSecret(purpose: String) throws(CommandError) -> String {
        try read(purpose, isSecret: true, KeyError.init(publicKey:))
    }

    /// The public key, read.
    func verifyingKey(purpose: String) throws(CommandError) -> VerifyingKey {
        let text = try readPublic(purpose: purpose)
        do throws(KeyError) {
            return try VerifyingKey(text: text)
        } catch {
            throw CommandError(.usage, "\(purpose) \(path): \(error)")
        }
    }

    /// The private key, read.
    func signingKey(purpose: String) throws(CommandError) -> SigningKey {
        let text = try readSecret(purpose: purpose)
        do throws(KeyError) {
            return try SigningKey(text: text)
        } catch {
            throw CommandError(.usage, "\(purpose) \(path): \(error)")
        }
    }

    /// - Parameter wrongKey: Says that a text is the other half of a key.
    private func read(
        _ purpose: String, isSecret: Bool, _ wrongKey: (String) -> KeyError?
    ) throws(CommandError) -> String {
        do throws(CommandError) {
            return String(
                decoding: try GuardedFile.read(path, purpose: purpose, isSecret: isSecret), as: UTF8.self)
        } catch {
            // That it is another file than was meant says more than its mode.
            guard let bytes = try? InputFile.read(path, purpose: purpose),
                let fault = wrongKey(String(decoding: bytes, as: UTF8.self))
            else { throw error }
            throw CommandError(.usage, "\(purpose) \(path): \(fault)")
        }
    }
}
