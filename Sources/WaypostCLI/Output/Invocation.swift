import FoundationEssentials
import Glibc
import Threading

/// One run of the program: its command line and environment, where it reads and prints, and what ends it.
///
/// What the program takes from its surroundings, it takes from ``current``, and not from the process: tests run it many
/// times in theirs, several at a time.
package final class Invocation: Sendable {
    /// The run that the code which asks belongs to.
    ///
    /// Tasks have that of the task that made them. Threads and the callbacks of others have none: who prints from there
    /// takes its run along.
    @TaskLocal static var current: Invocation = process

    /// That of the process, with all that belongs to it.
    static let process = Invocation(
        Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment,
        input: STDIN_FILENO, output: STDOUT_FILENO, errors: STDERR_FILENO)

    /// The command line behind the program's name.
    let words: [String]
    let environment: [String: String]
    /// The descriptors of standard input, output and error.
    let input: Int32
    let output: Int32
    let errors: Int32
    package let signals = Signals()

    /// Why standard output takes nothing more: an `errno`; nil as long as it does.
    let outputFailure = Guarded<Int32?>(nil)
    /// What standard error goes through once ``Terminal/queueNotes(loss:)`` was called.
    let notes = Guarded<LineQueue?>(nil)
    /// The terminal as it was before ``ScreenMode`` took it.
    let screenBefore = Guarded<termios?>(nil)
    /// The user names that it has taken, see ``Account``.
    let accounts = Guarded<[String: HeldName]>([:])

    /// A run that closes the three descriptors when the last of its code has ended.
    package init(
        _ words: [String], environment: [String: String], input: Int32, output: Int32, errors: Int32
    ) {
        (self.words, self.environment) = (words, environment)
        (self.input, self.output, self.errors) = (input, output, errors)
    }

    deinit { for descriptor in [input, output, errors] { close(descriptor) } }

    /// Whether it may do what concerns all that runs in the process.
    var ownsProcess: Bool { self === Self.process }

    /// - Throws: ``CommandError`` 1 where others run in the process.
    func checkOwnsProcess(for what: String) throws(CommandError) {
        guard ownsProcess else { throw CommandError(.failed, "\(what) needs a process of its own") }
    }

    /// Of a variable that is set to something.
    static func variable(_ name: String) -> String? {
        current.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// A name that is this run's for as long as this lives, by the lock on a file.
final class HeldName: Sendable {
    let name: String
    private let descriptor: Int32

    /// - Parameter descriptor: of the file that is locked; it is closed with this.
    init(_ name: String, _ descriptor: Int32) { (self.name, self.descriptor) = (name, descriptor) }

    deinit { close(descriptor) }
}
