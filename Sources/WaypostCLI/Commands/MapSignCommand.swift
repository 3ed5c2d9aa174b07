import ArgumentParser
import Threading
import Waypost
import WaypostAgent
import WaypostBackend
import WaypostMessages

struct MapSignCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign a map or a patch with a private key. No broker is needed.",
        discussion: """
            A signed document names its receiver and its revision, so that it can't be used elsewhere or after a newer \
            one: a map needs rev, a patch base and rev. The receiver is aud in the document; --agent or --group sets \
            it. A document that is already signed gets one more signature. Send the \
            result as it is: waypost relocate --file.

            Examples:
              waypost map sign map.json --key release.pem --agent kiosk-7 -o map.signed.json
              waypost map sign map.json --key release-2=new.pem --group lobby \\
                -o map.signed.json
              waypost map sign map.signed.json --key ops.pem -o map.signed-twice.json
            """)

    @Argument(help: "The document; - is standard input.")
    var file: String

    @Option(
        name: .customLong("key"), parsing: .singleValue,
        help: ArgumentHelp(
            "The private key (PEM, Ed25519), with the id that the signature gives it; may be repeated.",
            discussion: "Default id: the file's name up to its first dot.", valueName: "[id=]file"))
    var keys: [String]

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("Where the signed document goes. Default: standard output.", valueName: "file"))
    var target = "-"

    @OptionGroup(title: "Receiver") var audience: AudienceOptions
    @OptionGroup var output: OutputOptions

    func perform() async throws {
        let source = try JSONFile(file, purpose: "map file")
        var envelope = try envelope(source)
        var signers: [(id: String, key: VerifyingKey)] = []
        for key in keys.map(KeyFile.init) {
            guard !envelope.signatures.contains(where: { $0.keyID == key.id }) else {
                throw CommandError(.failed, "sign \(source.name): it has a signature of \(key.id) already")
            }
            let secret = try key.signingKey(purpose: "signing key")
            guard envelope.sign(with: secret, id: key.id) else {
                throw CommandError(.failed, "sign \(source.name) with \(key.path): OpenSSL did not sign")
            }
            signers.append((key.id, secret.verifyingKey))
        }
        let bytes = envelope.encoded() + [UInt8(ascii: "\n")]
        let document = try check(bytes, signers, source.name)
        guard target != "-" else {
            _ = Terminal.print(jsonLines: bytes)
            return
        }
        try OutputFile.write(bytes, to: target, purpose: "signed map")
        let names = envelope.signatures.compactMap(\.keyID)
        if output.isJSON {
            let keys = JSONValue.array(names.map { .string($0) })
            Terminal.print(json: document.json(["file": .string(target), "keys": keys]))
        } else {
            let by = names.joined(separator: ", ")
            Terminal.print("\(output.style.green("signed")): \(target): \(document.text), by \(by)")
        }
    }

    /// The document as an agent reads it that trusts these keys.
    private func check(
        _ bytes: [UInt8], _ signers: [(id: String, key: VerifyingKey)], _ name: String
    ) throws(CommandError) -> SignedDocument {
        do {
            let trusted = TrustedKeys(signers, threshold: min(signers.count, TrustedKeys.maximumThreshold))
            return try SignedDocument(
                bytes, JSONValue(parsing: bytes, limits: .trustedFile), trusted: trusted,
                maximumBytes: AgentLimits().mapBytes, now: WallClock.now())
        } catch let error as Failure {
            throw CommandError(
                .failed,
                "sign \(name): an agent refuses it: \(error.code): \(error.detail); see: waypost check")
        } catch {
            throw CommandError(.failed, "sign \(name): \(error.words)")
        }
    }

    /// The document in an envelope: its own, or a new one around its bytes.
    private func envelope(_ source: JSONFile) throws(CommandError) -> SignedEnvelope {
        let receiver = audience.isGiven ? try audience.audience : nil
        do throws(Failure) {
            if SignedEnvelope.isOne(source.json) {
                guard receiver == nil else {
                    throw Failure(.badField, "it is signed already, so --agent and --group can't change it")
                }
                return try SignedEnvelope(source.json)
            }
            let missing = try SignedDocument.missingMembers(of: source.json, for: receiver)
            // What is complete is signed as it stands, byte for byte.
            let payload =
                missing.isEmpty
                ? source.values.bytes
                : JSONValue.object((source.json.objectValue ?? [:]).merging(missing) { $1 }).serialized()
            return SignedEnvelope(payloadType: SignedEnvelope.mapType, payload: payload)
        } catch {
            throw CommandError(.failed, "sign \(source.name): \(error.detail)")
        }
    }
}
