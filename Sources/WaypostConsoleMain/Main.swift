import WaypostConsole

/// Where the process begins.
@main
enum Main {
    static func main() async { await ConsoleProgram.main() }
}
