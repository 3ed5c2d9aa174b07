import WaypostBackend
import WaypostMessages

/// Who signs commands and maps, where an agent trusts a key.
struct Signer {
    private let key: SigningKey
    private let id: String

    /// - Parameter number: another key for each.
    init?(_ id: String, _ number: UInt8) {
        let text = Base64.encode([UInt8](repeating: number, count: 32))
        guard let key = try? SigningKey(text: text) else { return nil }
        (self.key, self.id) = (key, id)
    }

    /// The same, for a backend.
    var ofBackend: WaypostBackend.Signer { .init(id: id, key: key) }

    /// The public key, in base64.
    var publicKey: String { Base64.encode(key.verifyingKey.bytes) }

    /// What is signed.
    enum Content {
        case command, map, groups

        fileprivate var type: String {
            switch self {
            case .command: SignedEnvelope.commandType
            case .map: SignedEnvelope.mapType
            case .groups: SignedEnvelope.groupsType
            }
        }
    }

    /// - Parameter changed: what is sent in the place of what was signed.
    func sign(_ text: String, as content: Content = .command, changed: String? = nil) -> String {
        var envelope = SignedEnvelope(payloadType: content.type, payload: Array(text.utf8))
        let isSigned = envelope.sign(with: key, id: id)
        assert(isSigned, "OpenSSL signs")
        if let changed { envelope.payload = Array(changed.utf8) }
        return String(decoding: envelope.encoded(), as: UTF8.self)
    }
}
