import Glibc

/// A question before something that can't be taken back easily.
enum Confirmation {
    /// Whether there is someone to answer.
    static var canAsk: Bool { isatty(Invocation.current.input) == 1 && Terminal.showsProgress }

    /// Asks on standard error; anything but `y` or `yes` is no.
    static func ask(_ question: TerminalText) -> Bool {
        Terminal.progress("\(question) [y/N] ")
        return ["y", "yes"].contains(line().lowercased())
    }

    /// The line that is typed; a terminal hands over one at a time.
    private static func line() -> String {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var count = read(Invocation.current.input, &buffer, buffer.count)
        while count < 0, errno == EINTR { count = read(Invocation.current.input, &buffer, buffer.count) }
        return String(
            decoding: buffer.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
