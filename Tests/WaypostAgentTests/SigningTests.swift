import Testing
import Waypost

@testable import WaypostMessages

@Suite struct `Signatures` {
    /// RFC 8032, 7.1: secret key, public key, message and signature.
    private static let vectors = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ]

    @Test(arguments: vectors.indices)
    func `are those of RFC 8032`(_ index: Int) throws {
        let (secret, open, message, signature) = Self.vectors[index]
        let key = try SigningKey(text: Base64.encode(bytes(secret)))
        #expect(key.verifyingKey.bytes == bytes(open))
        #expect(key.signature(of: bytes(message)) == bytes(signature))
        #expect(key.verifyingKey.verifies(bytes(signature), of: bytes(message)))
        #expect(!key.verifyingKey.verifies(bytes(signature), of: bytes(message) + [0]))
        #expect(!key.verifyingKey.verifies(bytes(signature).dropLast() + [255], of: bytes(message)))
        #expect(!key.verifyingKey.verifies([], of: bytes(message)))
    }

    @Test func `sign what DSSE says is signed`() {
        let envelope = SignedEnvelope(
            payloadType: "http://example.com/HelloWorld", payload: Array("hello world".utf8))
        let text = String(decoding: envelope.signedBytes, as: UTF8.self)
        #expect(text == "DSSEv1 29 http://example.com/HelloWorld 11 hello world")
    }

    @Test func `count once a key, and only under the name that the key has`() throws {
        let keys = try Self.vectors.map { try SigningKey(text: Base64.encode(bytes($0.0))) }
        let trusted = keys.prefix(2).enumerated().map { (id: "k\($0.offset)", key: $0.element.verifyingKey) }
        let both = TrustedKeys(trusted, threshold: 2)
        var envelope = SignedEnvelope(payloadType: "application/json", payload: Array("{}".utf8))
        for id in ["k0", "k0"] { try envelope.signed(with: keys[0], id: id) }
        #expect(throws: Failure.self) { try both.check(envelope) }
        try envelope.signed(with: keys[1], id: "other")
        #expect(throws: Failure.self) { try both.check(envelope) }
        try envelope.signed(with: keys[1], id: "k1")
        #expect(try both.check(envelope) == [keys[0].verifyingKey, keys[1].verifyingKey])
        envelope.payload = Array("[]".utf8)
        #expect(throws: Failure.self) { try both.check(envelope) }
        envelope.payload = Array("{}".utf8)
        envelope.payloadType = "text/json"
        #expect(throws: Failure.self) { try both.check(envelope) }
    }

    @Test func `without a name are tried with every key`() throws {
        let keys = try Self.vectors.map { try SigningKey(text: Base64.encode(bytes($0.0))) }
        let trusted = TrustedKeys(keys.map { ("k", $0.verifyingKey) }, threshold: 2)
        var envelope = SignedEnvelope(payloadType: "application/json", payload: Array("{}".utf8))
        for key in keys.dropFirst() { try envelope.signed(with: key, id: "") }
        for index in envelope.signatures.indices { envelope.signatures[index].keyID = nil }
        #expect(try trusted.check(envelope).count == 2)
    }

    @Test func `more than twice as many as are needed are refused before one is verified`() throws {
        let key = try SigningKey(text: Base64.encode(bytes(Self.vectors[0].0)))
        let trusted = TrustedKeys([("k", key.verifyingKey)], threshold: 1)
        var envelope = SignedEnvelope(payloadType: "application/json", payload: Array("{}".utf8))
        for _ in 0..<2 { try envelope.signed(with: key, id: "k") }
        #expect(throws: Never.self) { try trusted.check(envelope) }
        try envelope.signed(with: key, id: "k")
        let refusal = #expect(throws: Failure.self) { try trusted.check(envelope) }
        #expect(refusal?.code == .badField)
    }

    @Test func `cost at most sixteen verifications for an envelope`() throws {
        let keys = try (0..<20).map { try SigningKey(text: Base64.encode([UInt8](repeating: $0, count: 32))) }
        let trusted = TrustedKeys(keys.map { ("k", $0.verifyingKey) }, threshold: 1)
        var envelope = SignedEnvelope(payloadType: "application/json", payload: Array("{}".utf8))
        for (index, isFound) in [(15, true), (16, false)] {
            envelope.signatures = []
            try envelope.signed(with: keys[index], id: "")
            envelope.signatures[0].keyID = nil
            #expect(((try? trusted.check(envelope)) != nil) == isFound)
        }
    }

    @Test func `come back from the wire as they were`() throws {
        let key = try SigningKey(text: Base64.encode(bytes(Self.vectors[0].0)))
        var envelope = SignedEnvelope(
            payloadType: SignedEnvelope.mapType, payload: Array(#"{"a":"ü"}"#.utf8))
        try envelope.signed(with: key, id: "release")
        let json = try JSONValue(parsing: envelope.encoded())
        #expect(SignedEnvelope.isOne(json))
        #expect(try SignedEnvelope(json) == envelope)
    }

    @Test(
        arguments: [
            "", "AAAA", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
            "-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----",
            "-----BEGIN RSA PUBLIC KEY-----\nAAAA\n-----END RSA PUBLIC KEY-----",
            // A public key on the curve P-256.
            """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEVs/o5+uQbTjL3chynL4wXgUg2R9
            q9UU8I5mEovUf86QZ7kOBIjJwqnzD1omageEHWwHdBO6B+dFabmdT9POxg==
            -----END PUBLIC KEY-----
            """,
        ])
    func `are not checked with what is no key`(_ text: String) {
        #expect(throws: KeyError.self) { try VerifyingKey(text: text) }
    }

    private func bytes(_ hex: String) -> [UInt8] {
        var rest = Substring(hex)
        var bytes: [UInt8] = []
        while let byte = UInt8(rest.prefix(2), radix: 16) {
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}

extension SignedEnvelope {
    /// Signs, or fails the test.
    mutating func signed(with key: SigningKey, id: String) throws {
        let isSigned = sign(with: key, id: id)
        try #require(isSigned)
    }
}
