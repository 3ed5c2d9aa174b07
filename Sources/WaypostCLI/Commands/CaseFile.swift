import WaypostBackend
import WaypostMessages

/// Prints the answers to the cases of a file as they come, and what differs from what was expected.
struct CaseFile {
    private let file: String
    private var run: CaseRun
    /// The cases with an expectation, and the lines that are no cases; nil when no report is wanted.
    private var tests: [JUnitReport.Test]?

    /// - Parameter reports: Whether a report is wanted of which cases passed.
    init(_ file: String, _ defaults: ResolveDefaults, reports: Bool) {
        self.file = file
        run = CaseRun(defaults)
        if reports { tests = [] }
    }

    /// Which cases passed.
    var report: JUnitReport {
        let name = FilePlace.name(file)
        return JUnitReport(name: "waypost resolve", suites: [.init(name: name, tests: tests ?? [])])
    }

    /// Answers every line; false when a line was no case or an answer not the expected one.
    mutating func answer() throws(CommandError) -> Bool {
        let lines = try LineReader(file, purpose: "cases file")
        while let batch = try lines.next() {
            var output: [UInt8] = []
            for line in batch {
                let answered = run.answer(line.isWhole ? line.bytes : nil)
                show(answered, line.number)
                output += answered.answer
                output.append(UInt8(ascii: "\n"))
            }
            // A reader that has enough is no failure.
            guard Terminal.print(jsonLines: output) else { return true }
        }
        Terminal.note(TerminalText(run.summary))
        return run.isGood
    }

    /// What is wrong goes to standard error, for people.
    private mutating func show(_ line: CaseRun.Line, _ number: Int) {
        let name = [line.id, line.url].compactMap(\.self).joined(separator: ": ")
        switch line.ending {
        case .answered: break
        case .passed: add(number, name, [])
        case .failed(let differences):
            add(number, name, differences)
            Terminal.note(
                "line \(number): case\(line.id.map { " \($0)" } ?? "") failed: \(line.url ?? "")")
            for difference in differences { Terminal.note("  \(difference)") }
        case .unreadable(let reason):
            add(number, "line \(number)", [reason])
            Terminal.note("line \(number)\(line.subject): \(reason)")
        }
    }

    private mutating func add(_ number: Int, _ name: String, _ faults: [String]) {
        let failure = faults.first.map {
            JUnitReport.Failure(type: "case", message: $0, text: faults.joined(separator: "\n"))
        }
        tests?.append(
            .init(name: name, failure: failure, place: .init(file: FilePlace.name(file), line: number)))
    }
}
