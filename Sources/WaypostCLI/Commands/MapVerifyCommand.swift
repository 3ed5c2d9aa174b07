import ArgumentParser
import Threading
import Waypost
import WaypostAgent
import WaypostBackend
import WaypostMessages

struct MapVerifyCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify the signatures of a map or a patch, as an agent does. No broker is needed.",
        discussion: """
            The exit status is 0 when an agent with these keys accepts the signatures, else 1. To check the entries \
            against its routes: waypost check.

            Examples:
              waypost map verify map.signed.json --key release.pub
              waypost map verify map.signed.json --key release.pub --key ops.pub \\
                --threshold 2
            """)

    @Argument(help: "The signed document; - is standard input.")
    var file: String

    @Option(
        name: .customLong("key"), parsing: .singleValue,
        help: ArgumentHelp(
            "A public key that is trusted (PEM, Ed25519), with its id; may be repeated.",
            discussion: "Default id: the file's name up to its first dot.", valueName: "[id=]file"))
    var keys: [String]

    @Option(help: ArgumentHelp("How many of the keys must have signed, 1 to 8.", valueName: "number"))
    var threshold = 1

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (1...TrustedKeys.maximumThreshold).contains(threshold), threshold <= keys.count else {
            throw ValidationError(
                "--threshold must be 1 to \(min(keys.count, TrustedKeys.maximumThreshold)), the number of keys"
            )
        }
    }

    func perform() async throws {
        var trusted: [(id: String, key: VerifyingKey)] = []
        for file in keys.map(KeyFile.init) {
            let key = try file.verifyingKey(purpose: "public key")
            guard !trusted.contains(where: { $0.id == file.id || $0.key == key }) else {
                throw CommandError(
                    .usage, "public key \(file.path): this key, or one of that id, is given twice")
            }
            trusted.append((file.id, key))
        }
        let source = try JSONFile(file, purpose: "map file")
        do throws(Failure) {
            let document = try SignedDocument(
                source.values.bytes, source.json, trusted: TrustedKeys(trusted, threshold: threshold),
                maximumBytes: AgentLimits().mapBytes, now: WallClock.now())
            let names = trusted.filter { document.signers.contains($0.key) }.map(\.id)
            if output.isJSON {
                let keys = JSONValue.array(names.map { .string($0) })
                Terminal.print(json: document.json(["file": .string(source.name), "keys": keys]))
            } else {
                let by = names.joined(separator: ", ")
                Terminal.print("\(output.style.green("valid")): \(document.text), signed by \(by)")
            }
        } catch {
            throw CommandError(.failed, "verify \(source.name): \(error.code): \(error.detail)")
        }
    }
}
