import Glibc
import Waypost

/// Standard output and standard error, written without a buffer of our own: what is printed is there.
///
/// All that the program prints goes through here, so that nothing that came from outside is obeyed by a terminal.
enum Terminal {
    /// Whether `descriptor` is a terminal that wants colours (no-color.org).
    static func wantsColours(_ descriptor: Int32) -> Bool {
        guard isatty(descriptor) == 1 else { return false }
        if let refused = getenv("NO_COLOR"), refused.pointee != 0 { return false }
        return getenv("TERM").map { strcmp($0, "dumb") != 0 } ?? false
    }

    /// Prints a line; false when the output is closed.
    @discardableResult
    static func print(_ line: TerminalText) -> Bool {
        write(Array("\(line.text)\n".utf8), to: STDOUT_FILENO)
    }

    /// Prints a line of JSON; false when the output is closed.
    @discardableResult
    static func print(json: JSONValue) -> Bool { print(json: json.serialized()) }

    /// Prints a line that is JSON already; false when the output is closed.
    @discardableResult
    static func print(json line: [UInt8]) -> Bool { print(jsonLines: line + [UInt8(ascii: "\n")]) }

    /// Prints lines of JSON that end with their newlines; false when the output is closed.
    static func print(jsonLines lines: [UInt8]) -> Bool {
        write(TerminalJSON.escaped(lines), to: STDOUT_FILENO)
    }

    /// Writes text where the cursor is, without a newline.
    @discardableResult
    static func draw(_ text: TerminalText) -> Bool { write(Array(text.text.utf8), to: STDOUT_FILENO) }

    /// Prints a line about the command itself to standard error.
    static func note(_ line: TerminalText) { write(Array("\(line.text)\n".utf8), to: STDERR_FILENO) }

    /// Prints a line of JSON to standard error.
    static func note(json: JSONValue) {
        write(TerminalJSON.escaped(json.serialized() + [UInt8(ascii: "\n")]), to: STDERR_FILENO)
    }

    /// Writes over the last line of standard error, a terminal, without ending it.
    static func progress(_ line: TerminalText) {
        write(Array((TerminalText(codes: "\r\u{1B}[K") + line).text.utf8), to: STDERR_FILENO)
    }

    /// Prints why the command ends.
    static func error(_ sentence: String) {
        let style = Style(isOn: wantsColours(STDERR_FILENO))
        note("waypost: \(style.red("error:")) \(sentence)")
    }

    @discardableResult
    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process made the descriptor non-blocking; wait until it takes more.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}
