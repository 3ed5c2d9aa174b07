import Waypost
import WaypostMessages

/// Answers the cases of a file, line by line, as they come.
final class CaseRun {
    private let defaults: ResolveDefaults
    private var table: ResolveCase.Table?
    private var setup: Result<(router: Router, maps: ResolveMaps), Rejection>?
    private var expectations = 0
    private var failed = 0
    private var unreadable = 0

    init(_ defaults: ResolveDefaults) {
        self.defaults = defaults
    }

    /// Answers every line; false when a line was no case or an answer not the expected one.
    func answer(_ file: String) throws(CommandError) -> Bool {
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
        if expectations > 0 || unreadable > 0 {
            let bad =
                unreadable == 0
                ? "" : unreadable == 1 ? ", 1 line was not a case" : ", \(unreadable) lines were not cases"
            Terminal.note(
                "\(expectations.counted("expectation")): \(expectations - failed) passed, \(failed) failed\(bad)"
            )
        }
        return failed == 0 && unreadable == 0
    }

    private func answer(_ line: LineReader.Line) -> [UInt8] {
        var json: JSONValue?
        do {
            let parsed = try Self.parse(line)
            json = parsed
            let asked = try ResolveCase(parsed)
            let answer = answer(asked)
            var writer = answer.writer(for: asked.id)
            if !asked.expected.isEmpty { writer.member("pass", compare(answer, asked, line.number)) }
            writer.endObject()
            return writer.bytes
        } catch {
            unreadable += 1
            Terminal.note("line \(line.number): \(error.code): \(error.detail)")
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
            throw Rejection(.badJSON, "the line is not JSON: \(error)")
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
        guard !differences.isEmpty else { return true }
        failed += 1
        let name = asked.id.isNull ? "" : " \(asked.id.stringValue ?? asked.id.text)"
        Terminal.note("line \(line): case\(name) failed: \(asked.url)")
        for difference in differences { Terminal.note("  \(difference)") }
        return false
    }
}
