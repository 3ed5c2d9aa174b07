import ArgumentParser
import Configuration
import FoundationEssentials
import Waypost
import WaypostBackend
import WaypostMessages

struct ProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "Save brokers and user names as named profiles, and choose one.",
        discussion: """
            A profile holds the options of a broker. It is used with --profile NAME, with WAYPOST_PROFILE, or, after \
            waypost profile use NAME, by every command that names no broker. Options and the environment win over it. \
            Keep each password in its own file. Profiles are files in ~/.config/waypost/profiles, in the form that \
            --config reads.

            Examples:
              waypost profile add prod --broker mqtts://broker.example \\
                --username ops --password-file ~/.waypost-password
              waypost agents --profile prod
              waypost profile use prod
              waypost profile list
            """,
        subcommands: [Add.self, List.self, Show.self, Use.self, Remove.self])

    struct Add: OperatorCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Write a profile, or replace the one of that name.")

        @Argument(help: "The name.")
        var name: String

        @OptionGroup var output: OutputOptions
        @OptionGroup(title: "Sender") var sender: SenderOptions
        @OptionGroup(title: "Broker") var broker: BrokerOptions

        func validate() throws {
            try NameCheck.check(name, of: "the profile")
            guard case .some(.some) = broker.given["broker"] else {
                throw ValidationError("a profile needs its --broker")
            }
            guard broker.text("profile") == nil, broker.text("config") == nil else {
                throw ValidationError("a profile cannot contain --profile or --config")
            }
        }

        func perform() async throws {
            let options = broker.given.merging(sender.given) { $1 }
            // What could not be used is found now.
            _ = try await BackendConfiguration(Settings(options, file: nil))
            let lines = try options.sorted { $0.key < $1.key }.compactMap { name, content -> String? in
                // A text in the form of JSON is one in YAML too.
                switch content {
                case .string(let text)?: "\(name): \(JSONValue.string(try Self.absolute(text, name)).text)"
                case .stringArray(let texts)?:
                    "\(name): [\(texts.map { JSONValue.string($0).text }.joined(separator: ", "))]"
                case .int(let number)?: "\(name): \(number)"
                default: nil
                }
            }
            let store = try ProfileStore.user
            try store.write(lines.joined(separator: "\n") + "\n", as: name)
            if output.isJSON {
                Terminal.print(json: ["profile": .string(name), "file": .string(store.file(of: name))])
            } else {
                Terminal.print("profile \(name): \(store.file(of: name))")
            }
        }

        /// A profile is used in any directory.
        private static func absolute(_ text: String, _ name: String) throws(CommandError) -> String {
            name.hasSuffix("-file") ? try UserFolder.fromHere(text) : text
        }
    }

    struct List: OperatorCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the profiles; * marks the one in use.")

        @OptionGroup var output: OutputOptions

        func perform() async throws {
            let store = try ProfileStore.user
            let inUse = try store.inUse
            for name in store.names {
                if output.isJSON {
                    Terminal.print(json: ["profile": .string(name), "inUse": .bool(name == inUse)])
                } else {
                    let broker = (try? store.broker(of: name)) ?? "cannot be read"
                    Terminal.print("\(name == inUse ? "*" : " ") \(name)  \(broker)")
                }
            }
            if store.names.isEmpty, !output.isJSON {
                Terminal.note("there are no profiles; see: waypost profile add --help")
            }
        }
    }

    struct Show: OperatorCommand {
        static let configuration = CommandConfiguration(commandName: "show", abstract: "Print a profile.")

        @Argument(help: "The name.", completion: .profiles)
        var name: String

        @OptionGroup var output: OutputOptions

        func perform() async throws {
            let store = try ProfileStore.user
            try store.check(name)
            let bytes = try GuardedFile.read(store.file(of: name), purpose: "profile")
            let text = String(decoding: bytes, as: UTF8.self)
            if output.isJSON {
                Terminal.print(json: ["profile": .string(name), "text": .string(text)])
            } else {
                Terminal.print(TerminalText(lines: text.hasSuffix("\n") ? String(text.dropLast()) : text))
            }
        }
    }

    struct Use: OperatorCommand {
        static let configuration = CommandConfiguration(
            commandName: "use", abstract: "Use this profile when a command names no broker.")

        @Argument(help: "The name.", completion: .profiles)
        var name: String?

        @Flag(help: "Use none from now on.")
        var none = false

        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard (name != nil) != none else { throw ValidationError("name a profile, or use --none") }
        }

        func perform() async throws {
            let store = try ProfileStore.user
            if let name { try store.use(name) } else { try store.useNone() }
            let broker = try name.map { name throws(CommandError) in try store.broker(of: name) }
            if output.isJSON {
                Terminal.print(json: ["profile": name.map { .string($0) } ?? .null])
            } else if let name, let broker {
                Terminal.print("commands that name no broker use profile \(name) from now on: \(broker)")
            } else {
                Terminal.print("commands that name no broker use no profile from now on")
            }
        }
    }

    struct Remove: OperatorCommand {
        static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a profile.")

        @Argument(help: "The name.", completion: .profiles)
        var name: String

        @OptionGroup var output: OutputOptions

        func perform() async throws { try ProfileStore.user.remove(name) }
    }
}
