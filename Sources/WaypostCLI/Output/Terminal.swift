import Glibc
import Threading
import Waypost

/// Standard output and standard error, written without a buffer of our own: what is printed is there.
///
/// All that the program prints goes through here, so that nothing that came from outside is obeyed by a terminal, and
/// so that ``finish()`` knows of all that could not be printed.
enum Terminal {
    /// The columns of the terminal that standard output is; nil where it is none.
    static var width: Int? { isatty(Invocation.current.output) == 1 ? ScreenMode.size.columns : nil }

    /// The columns of the help: what `COLUMNS` says, else the terminal.
    static var helpWidth: Int {
        Invocation.current.environment["COLUMNS"].flatMap { Int($0) } ?? ScreenMode.size.columns
    }

    /// Whether standard output is a terminal that wants colours.
    static var hasColours: Bool { wantsColours(Invocation.current.output) }

    /// Whether standard error is.
    static var errorsHaveColours: Bool { wantsColours(Invocation.current.errors) }

    /// Whether standard error is a terminal, which shows how far something is.
    static var showsProgress: Bool { isatty(Invocation.current.errors) == 1 }

    /// Whether a descriptor is a terminal that wants colours (no-color.org).
    private static func wantsColours(_ descriptor: Int32) -> Bool {
        guard isatty(descriptor) == 1, Invocation.variable("NO_COLOR") == nil else { return false }
        return Invocation.current.environment["TERM"].map { $0 != "dumb" } ?? false
    }

    /// Prints a line; false when the output is closed.
    @discardableResult
    static func print(_ line: TerminalText) -> Bool {
        output(Array("\(line.text)\n".utf8))
    }

    /// Prints a line of JSON; false when the output is closed.
    @discardableResult
    static func print(json: JSONValue) -> Bool { print(json: json.serialized()) }

    /// Prints a line that is JSON already; false when the output is closed.
    @discardableResult
    static func print(json line: [UInt8]) -> Bool { print(jsonLines: line + [UInt8(ascii: "\n")]) }

    /// Prints lines of JSON that end with their newlines; false when the output is closed.
    static func print(jsonLines lines: [UInt8]) -> Bool {
        output(TerminalJSON.escaped(lines))
    }

    /// Writes text where the cursor is, without a newline.
    @discardableResult
    static func draw(_ text: TerminalText) -> Bool { output(Array(text.text.utf8)) }

    /// Prints a line about the command itself to standard error.
    static func note(_ line: TerminalText) { note(.text(line)) }

    /// Prints a line of JSON to standard error.
    static func note(json: JSONValue) { note(.json(json)) }

    /// From now on who prints to standard error does not wait until it is read: for a program that serves others, and
    /// whose reader may stall.
    ///
    /// - Parameter loss: the line that says how many are missing.
    static func queueNotes(loss: @escaping @Sendable (Int) -> Note) {
        let descriptor = Invocation.current.errors
        let queue = LineQueue(
            thread: "wp-stderr", write: { Descriptor.write($0, to: descriptor) == 0 },
            loss: { loss($0).bytes })
        Invocation.current.notes.withLock { $0 = queue }
    }

    /// Waits until what goes through a queue is written, but not for long: the program is about to end, and its reader
    /// may never read.
    static func flushNotes() { Invocation.current.notes.withLock(\.self)?.flush(within: .seconds(1)) }

    /// Prints a line to standard error.
    ///
    /// - Parameter invocation: whose; for what is called on threads of others.
    static func note(_ note: Note, of invocation: Invocation = .current) {
        if let queue = invocation.notes.withLock(\.self) {
            queue.append(note.bytes)
        } else {
            _ = Descriptor.write(note.bytes, to: invocation.errors)
        }
    }

    /// Writes over the last line of standard error, a terminal, without ending it.
    static func progress(_ line: TerminalText) {
        let bytes = Array((TerminalText(codes: "\r\u{1B}[K") + line).text.utf8)
        _ = Descriptor.write(bytes, to: Invocation.current.errors)
    }

    /// Prints why the command ends.
    static func error(_ sentence: String) {
        let style = Style(isOn: errorsHaveColours)
        note("waypost: \(style.red("error:")) \(sentence)")
    }

    /// Says what of the output is lost, for the end of every command; nil when all of it is where it should be, or its
    /// reader went away, who has what it wanted.
    static func finish() -> String? {
        let invocation = Invocation.current
        let error = invocation.outputFailure.withLock { failure in
            // Some file systems say only at a close that they are full; the descriptor itself stays open, because
            // another thread may be waiting for its end.
            let copy = dup(invocation.output)
            if copy >= 0, close(copy) != 0, errno != EINTR { failure = failure ?? errno }
            return failure
        }
        guard let error, error != EPIPE else { return nil }
        return "write to standard output: \(Descriptor.text(of: error)); what was printed is not complete"
    }

    /// Whether a part of the output is lost, and not because its reader went away.
    static var hasFailed: Bool {
        Invocation.current.outputFailure.withLock { $0 != nil && $0 != EPIPE }
    }

    /// False when the output is closed, or lost a part of what was printed: nothing is written behind a gap.
    private static func output(_ bytes: [UInt8]) -> Bool {
        let invocation = Invocation.current
        guard invocation.outputFailure.withLock({ $0 == nil }) else { return false }
        // Not behind the lock: a reader may take its time.
        let error = Descriptor.write(bytes, to: invocation.output)
        guard error != 0 else { return true }
        invocation.outputFailure.withLock { $0 = $0 ?? error }
        return false
    }
}

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

/// A line about the program itself, for standard error.
enum Note {
    case text(TerminalText)
    case json(JSONValue)

    /// The line with its newline, and with nothing in it that a terminal obeys.
    var bytes: [UInt8] {
        switch self {
        case .text(let line): Array("\(line.text)\n".utf8)
        case .json(let value): TerminalJSON.escaped(value.serialized() + [UInt8(ascii: "\n")])
        }
    }
}
