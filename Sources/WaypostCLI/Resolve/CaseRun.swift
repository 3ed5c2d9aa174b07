import Waypost
import WaypostMessages

/// Answers the cases of a file, line by line, as they come.
final class CaseRun {
    private let defaults: ResolveDefaults
    private var table: ResolveCase.Table?
    private var setup: Result<(router: Router, maps: ResolveMaps), Rejection>?
    private let file: String
    private var cases = 0
    private var expectations = 0
    private var failed = 0
    private var unreadable = 0
    /// The cases with an expectation, and the lines that are no cases; nil when no report is wanted.
    private var tests: [JUnitReport.Test]?

    /// - Parameter reports: Whether a report is wanted of which cases passed.
    init(_ defaults: ResolveDefaults, of file: String, reports: Bool) {
        self.defaults = defaults
        self.file = file
        if reports { tests = [] }
    }

    /// Which cases passed.
    var report: JUnitReport {
        let name = FilePlace.name(file)
        return JUnitReport(name: "waypost resolve", suites: [.init(name: name, tests: tests ?? [])])
    }

    /// Answers every line; false when a line was no case or an answer not the expected one.
    func answer() throws(CommandError) -> Bool {
        let lines = try LineReader(file, purpose: "cases file")
        while let batch = try lines.next() {
            var output: [UInt8] = []
            for line in batch {
                output += answer(line)
                output.append(UInt8(ascii: "\n"))
            }
            // A reader that has enough is no failure.
            guard Terminal.print(jsonLines: output) else { return true }
        }
        Terminal.note(TerminalText(summary))
        return failed == 0 && unreadable == 0
    }

    /// `8 cases, 3 with an expectation: 2 passed, 1 failed`.
    private var summary: String {
        let results = expectations == 0 ? "" : ": \(expectations - failed) passed, \(failed) failed"
        let bad =
            switch unreadable {
            case 0: ""
            case 1: ", 1 line is not a case"
            default: ", \(unreadable) lines are not cases"
            }
        return
            "\(cases.counted("case")), \(expectations == 0 ? "none" : "\(expectations)") with an expectation"
            + results + bad
    }

    private func answer(_ line: LineReader.Line) -> [UInt8] {
        var json: JSONValue?
        do {
            let parsed = try Self.parse(line)
            json = parsed
            let asked = try ResolveCase(parsed)
            cases += 1
            let answer = answer(asked)
            var writer = answer.writer(for: asked.id)
            if !asked.expected.isEmpty { writer.member("pass", compare(answer, asked, line.number)) }
            writer.endObject()
            return writer.bytes
        } catch {
            unreadable += 1
            let fault = error.code == .badJSON ? " is not JSON" : json == nil ? "" : " is not a case"
            Terminal.note("line \(line.number)\(fault): \(error.detail)")
            note(line.number, "line \(line.number)", ["\(error.detail)"])
            var writer = ResolveAnswer(error, url: json?["open"]?.stringValue ?? "")
                .writer(for: json?["id"] ?? .null)
            writer.endObject()
            return writer.bytes
        }
    }

    private static func parse(_ line: LineReader.Line) throws(Rejection) -> JSONValue {
        guard line.isWhole else {
            throw Rejection(.tooLarge, "the line is longer than \(LineReader.maximumBytes >> 20) MiB")
        }
        do {
            return try JSONValue(parsing: line.bytes, limits: .trustedFile)
        } catch {
            throw Rejection(.badJSON, "\(error.textWithoutPlace), column \(error.offset + 1)")
        }
    }

    private func answer(_ asked: ResolveCase) -> ResolveAnswer {
        if table != asked.table {
            table = asked.table
            setup = Result { () throws(Rejection) in try defaults.router(asked.table) }
        }
        switch setup {
        case .success(let setup):
            return ResolveAnswer(
                setup.router.resolve(asked.url, parameters: asked.parameters), setup.maps)
        case .failure(let refusal): return ResolveAnswer(refusal, url: asked.url)
        case nil: return ResolveAnswer(Rejection(.badField, "routes is missing"), url: asked.url)
        }
    }

    /// Compares an answer with what was expected; what differs goes to standard error, for people.
    private func compare(_ answer: ResolveAnswer, _ asked: ResolveCase, _ line: Int) -> Bool {
        expectations += 1
        let differences = asked.expected.sorted { $0.key.rawValue < $1.key.rawValue }
            .flatMap { ExpectedValue.differences($0.value, answer[$0.key], at: $0.key.rawValue) }
        let id = asked.id.isNull ? nil : asked.id.stringValue ?? asked.id.text
        note(line, id.map { "\($0): \(asked.url)" } ?? asked.url, differences)
        guard !differences.isEmpty else { return true }
        failed += 1
        Terminal.note("line \(line): case\(id.map { " \($0)" } ?? "") failed: \(asked.url)")
        for difference in differences { Terminal.note("  \(difference)") }
        return false
    }

    private func note(_ line: Int, _ name: String, _ faults: [String]) {
        let failure = faults.first.map {
            JUnitReport.Failure(type: "case", message: $0, text: faults.joined(separator: "\n"))
        }
        tests?.append(
            .init(name: name, failure: failure, place: .init(file: FilePlace.name(file), line: line)))
    }
}
