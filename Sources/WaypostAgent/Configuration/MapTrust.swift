import WaypostMessages

/// The keys whose signatures relocation maps and patches must have: DSSE envelopes, Ed25519.
///
/// Without keys nothing needs to be signed. Once there is one, what is not signed is refused with 401 `UNSIGNED`.
public struct MapTrust: Sendable, Equatable {
    /// Why a key can't be trusted: what was found.
    public struct KeyError: Error, Sendable, CustomStringConvertible {
        /// What was found.
        public let description: String
    }

    private var pinned: [(id: String, key: VerifyingKey)] = []
    /// How many of the keys must have signed a document; 1 unless set, at most 8.
    public var threshold = 1
    /// Whether commands must be signed too; false unless set.
    ///
    /// One that is signed is checked either way. It is an error to set this without a key.
    public var coversCommands = false

    /// No keys: nothing needs to be signed.
    public init() {}

    /// How many keys are trusted.
    public var count: Int { pinned.count }

    /// Adds a public key to those that are trusted.
    ///
    /// - Parameters:
    ///   - id: The name that signatures may give it as `keyid`.
    ///   - key: PEM, as `openssl pkey -pubout` writes it, or the 32 bytes in base64.
    /// - Throws: ``KeyError`` when it is no public key for Ed25519, or trusted already.
    public mutating func pin(_ id: String, key: String) throws(KeyError) {
        let verifying: VerifyingKey
        do {
            verifying = try VerifyingKey(text: key)
        } catch {
            throw KeyError(description: error.detail)
        }
        // One key under two names would count twice.
        guard !pinned.contains(where: { $0.id == id || $0.key == verifying }) else {
            throw KeyError(description: "this key, or one of that name, is trusted already")
        }
        pinned.append((id, verifying))
    }

    /// Whether both trust the same keys by the same rules.
    public static func == (one: MapTrust, other: MapTrust) -> Bool {
        one.threshold == other.threshold && one.coversCommands == other.coversCommands
            && one.pinned.map(\.id) == other.pinned.map(\.id)
            && one.pinned.map(\.key) == other.pinned.map(\.key)
    }

    var keys: TrustedKeys { TrustedKeys(pinned, threshold: max(1, threshold)) }
}
