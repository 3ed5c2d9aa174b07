import Glibc

/// Standard output and standard error, written without a buffer of our own: what is printed is there.
enum Terminal {
    /// Whether `descriptor` is a terminal that wants colours (no-color.org).
    static func wantsColours(_ descriptor: Int32) -> Bool {
        guard isatty(descriptor) == 1 else { return false }
        if let refused = getenv("NO_COLOR"), refused.pointee != 0 { return false }
        return getenv("TERM").map { strcmp($0, "dumb") != 0 } ?? false
    }

    /// Prints a line; false when the output is closed.
    @discardableResult
    static func print(_ line: some StringProtocol) -> Bool {
        print(bytes: Array(line.utf8))
    }

    /// Prints bytes and a newline; false when the output is closed.
    @discardableResult
    static func print(bytes: [UInt8]) -> Bool {
        write(bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO)
    }

    /// Prints lines that end with their newlines; false when the output is closed.
    static func print(lines: [UInt8]) -> Bool { write(lines, to: STDOUT_FILENO) }

    /// Writes text as it is, control characters included: what stands in it is ours.
    @discardableResult
    static func draw(_ text: String) -> Bool { write(Array(text.utf8), to: STDOUT_FILENO) }

    /// Prints a line about the command itself to standard error.
    static func note(_ line: String) {
        write(Array("\(line)\n".utf8), to: STDERR_FILENO)
    }

    /// Writes over the last line of standard error, a terminal, without ending it.
    static func progress(_ line: String) {
        write(Array("\r\u{1B}[K\(line)".utf8), to: STDERR_FILENO)
    }

    /// Prints why the command ends.
    static func error(_ sentence: String) {
        let style = Style(isOn: wantsColours(STDERR_FILENO))
        note("waypost: \(style.red("error:")) \(sentence.printable)")
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

extension StringProtocol {
    /// The text with control characters escaped: text from outside must not move the cursor or set colours.
    var printable: String {
        guard unicodeScalars.contains(where: \.isControl) else { return String(self) }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isControl {
                text += scalar.escaped(asASCII: true)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// C0, DEL, C1, and the marks that turn the direction of text around.
    fileprivate var isControl: Bool {
        switch value {
        case 0..<0x20, 0x7F...0x9F, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
