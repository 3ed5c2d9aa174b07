import Glibc

/// A question before something that can't be taken back easily.
enum Confirmation {
    /// Whether there is someone to answer.
    static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Asks on standard error; anything but `y` or `yes` is no.
    static func ask(_ question: TerminalText) -> Bool {
        Terminal.progress("\(question) [y/N] ")
        return ["y", "yes"].contains((readLine() ?? "").lowercased())
    }
}
