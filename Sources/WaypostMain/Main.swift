import WaypostCLI

/// Where the process begins.
@main
enum Main {
    static func main() async { await WaypostProgram.main() }
}
