import Glibc
import Threading
import Waypost

/// The terminal as one screen: no echo, keys as they are pressed, the shell's lines put aside.
///
/// The caller that began it ends it. What ends the process at once must do so too, or the shell is unusable.
enum ScreenMode {
    /// Whether there is a terminal on both sides that can be drawn on.
    static var isPossible: Bool {
        isatty(Invocation.current.input) == 1 && isatty(Invocation.current.output) == 1
            && Invocation.variable("TERM").map { $0 != "dumb" } == true
    }

    /// Takes the terminal; false when it is none.
    static func begin() -> Bool {
        let invocation = Invocation.current
        let isTaken = invocation.screenBefore.withLock { before in
            var attributes = termios()
            guard before == nil, tcgetattr(invocation.input, &attributes) == 0 else { return false }
            before = attributes
            // Ctrl-C stays a signal. Ctrl-Z and Ctrl-\ would leave the screen as it is, so they are mere keys.
            attributes.c_lflag &= ~tcflag_t(ECHO | ICANON)
            withUnsafeMutableBytes(of: &attributes.c_cc) { characters in
                // 0 is _POSIX_VDISABLE.
                characters[Int(VSUSP)] = 0
                characters[Int(VQUIT)] = 0
                characters[Int(VMIN)] = 1
                characters[Int(VTIME)] = 0
            }
            return tcsetattr(invocation.input, TCSANOW, &attributes) == 0
        }
        // The other screen, without a cursor, and lines that are cut rather than wrapped.
        return isTaken && Terminal.draw(TerminalText(codes: "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J"))
    }

    /// Restores the terminal as it was; does nothing when it was not taken.
    static func end() {
        let invocation = Invocation.current
        let attributes = invocation.screenBefore.withLock { before in
            defer { before = nil }
            return before
        }
        guard var attributes else { return }
        Terminal.draw(TerminalText(codes: "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"))
        tcsetattr(invocation.input, TCSAFLUSH, &attributes)
    }

    /// Rows and columns; 24 and 80 where the terminal does not say.
    static var size: (rows: Int, columns: Int) {
        var size = winsize()
        guard ioctl(Invocation.current.output, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0,
            size.ws_col > 0
        else { return (24, 80) }
        return (Int(size.ws_row), Int(size.ws_col))
    }
}
