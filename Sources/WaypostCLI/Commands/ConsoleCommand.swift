import ArgumentParser
import Glibc
import WaypostBackend

/// Hands over to the program of its own that the console is, so that this one has no web server in it.
struct ConsoleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "A page for the browser: problems, logs, maps, and where a URL leads.",
        discussion: """
            Starts waypost-console, where that is installed beside this program or on the path, with the options that \
            are given; waypost-console --help has them all. From the sources: scripts/console, and scripts/console \
            --demo to look around.

            Examples:
              waypost console
              waypost console --profile shop --allow-commands
              waypost console --listen 10.0.0.5:8750 \\
                --behind-proxy https://console.example
            """)

    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp("Options of waypost-console.", valueName: "options"))
    var words: [String] = []

    static let program = "waypost-console"

    func run() throws {
        try Invocation.current.checkOwnsProcess(for: "console")
        // Beside this one first: what belongs together was installed together.
        for path in [Self.neighbour, Self.program].compactMap(\.self) {
            let arguments = ([path] + words).map { strdup($0) } + [nil]
            defer { for argument in arguments { free(argument) } }
            execvp(path, arguments)
            guard errno == ENOENT else { break }
        }
        let reason = errno == ENOENT ? "it is not installed" : Descriptor.text(of: errno)
        throw CommandError(
            .failed,
            "start \(Self.program): \(reason); it is the package waypost-console, or in the sources scripts/console"
        )
    }

    private static var neighbour: String? {
        var path = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        guard count > 0 else { return nil }
        let text = String(decoding: path.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let slash = text.lastIndex(of: "/") else { return nil }
        return text[...slash] + program
    }
}
