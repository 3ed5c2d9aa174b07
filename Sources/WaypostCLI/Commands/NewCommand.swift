import ArgumentParser
import Glibc
import Waypost

struct NewCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Write a package to begin with: an agent of your own, with its test and image.",
        discussion: """
            The package has two routes and a service, a program with an agent around them, a test that holds their \
            contract against a file beside it, a Dockerfile and a README that says how to go on. It builds and passes its \
            test as it is.

            The folder is written whole or not at all, and one that is there is left as it is.

            Examples:
              waypost new kiosk --package https://git.example/waypost.git
              waypost new kiosk --package . --output ../kiosk
            """)

    @Argument(
        help: "Its name: that of the folder, the program, the agent and the scheme of its URLs.")
    var name: String

    @Option(
        help: ArgumentHelp(
            "Where Waypost is: the address of its repository, or a folder with it.",
            valueName: "address"), completion: .directory)
    var package: String

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "The folder to make.", discussion: "Default: the name, in this directory.", valueName: "folder"),
        completion: .directory)
    var folder: String?

    @OptionGroup var output: OutputOptions

    /// Names that the package manager would not tell from those of packages and programs that come along.
    private static let taken: Set = ["hummingbird", "waypost", "waypost-console"]

    func validate() throws {
        let rule = "1 to 32 lower-case letters, digits and single hyphens, a letter first"
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard name.utf8.count <= 32, name.first.map({ "a"..."z" ~= $0 }) == true,
            parts.allSatisfy({ part in
                !part.isEmpty && part.allSatisfy { "a"..."z" ~= $0 || "0"..."9" ~= $0 }
            })
        else { throw ValidationError("the name is \(rule); found \(name.quoted)") }
        guard !Self.taken.contains(name), !name.hasPrefix("swift-") else {
            throw ValidationError("the name \(name) is that of a package that comes along; choose another")
        }
    }

    func perform() async throws {
        let package = NewPackage(name: name, origin: try origin())
        let files = package.files
        let path = folder ?? name
        try NewFolder(path: path).write(files)
        if output.isJSON {
            Terminal.print(
                json: ["folder": .string(path), "files": .array(files.map { .string($0.path) })])
        } else {
            Terminal.print("\(path): \(files.count) files; next: cd \(path) && swift test")
        }
    }

    private func origin() throws(CommandError) -> NewPackage.Origin {
        let given = package
        // As git writes them: https://host/path, ssh://host/path, user@host:path.
        if given.contains("://") || given.firstRange(of: /^[A-Za-z0-9._-]+@[A-Za-z0-9._-]+:/) != nil {
            guard
                given.utf8.allSatisfy({
                    0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
                })
            else { throw CommandError(.usage, "--package: \(given.quoted) is no address of a repository") }
            return .address(given)
        }
        guard let whole = realpath(given, nil) else {
            throw CommandError(.usage, "--package \(given): \(Descriptor.text(of: errno))")
        }
        defer { free(whole) }
        guard let path = String(validatingCString: whole), access("\(path)/Sources/Waypost", F_OK) == 0,
            access("\(path)/Package.swift", F_OK) == 0
        else {
            throw CommandError(
                .usage,
                "--package \(given): Waypost is not there; name the folder with its Package.swift, or its address"
            )
        }
        return .folder(path)
    }
}
