import Waypost
import WaypostMessages

/// Answers the cases of a URL contract, line by line.
struct CaseRun {
    /// What became of one line.
    struct Line {
        enum Ending {
            /// A case without an expectation.
            case answered
            case passed
            /// With what differs, a sentence a place.
            case failed([String])
            /// The line is no case: why.
            case unreadable(String)
        }

        /// The answer, one JSON object without a line feed.
        fileprivate(set) var answer: [UInt8]
        /// The id of the case, as text.
        fileprivate(set) var id: String?
        fileprivate(set) var url: String?
        fileprivate(set) var ending: Ending
        /// What is wrong with a line that is no case, after `line 3`: ` is not JSON`, ` is not a case`, or nothing.
        fileprivate(set) var subject = ""
    }

    private let defaults: ResolveDefaults
    private var table: ResolveCase.Table?
    private var setup: Result<(router: Router, maps: ResolveMaps), Failure>?
    private var cases = 0
    private var expectations = 0
    private var failed = 0
    private var unreadable = 0

    init(_ defaults: ResolveDefaults) { self.defaults = defaults }

    /// Whether every line was a case and every answer the expected one, so far.
    var isGood: Bool { failed == 0 && unreadable == 0 }

    /// `8 cases, 3 with an expectation: 2 passed, 1 failed`.
    var summary: String {
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

    /// Answers one line.
    ///
    /// - Parameter bytes: Nil for a line that is longer than ``LineReader.maximumBytes``.
    mutating func answer(_ bytes: ArraySlice<UInt8>?) -> Line {
        var json: JSONValue?
        do {
            let parsed = try Self.parse(bytes)
            json = parsed
            let asked = try ResolveCase(parsed)
            cases += 1
            return line(of: asked, answer(asked))
        } catch {
            unreadable += 1
            var writer = ResolveAnswer(error, url: json?["open"]?.stringValue ?? "")
                .writer(for: json?["id"] ?? .null)
            writer.endObject()
            let subject = error.code == .badJSON ? " is not JSON" : json == nil ? "" : " is not a case"
            return Line(answer: writer.bytes, ending: .unreadable(error.detail), subject: subject)
        }
    }

    private static func parse(_ bytes: ArraySlice<UInt8>?) throws(Failure) -> JSONValue {
        guard let bytes else {
            throw Failure(.tooLarge, "the line is longer than \(LineReader.maximumBytes >> 20) MiB")
        }
        do {
            return try JSONValue(parsing: bytes, limits: .trustedFile)
        } catch {
            throw Failure(.badJSON, "\(error.textWithoutPlace), column \(error.offset + 1)")
        }
    }

    private mutating func answer(_ asked: ResolveCase) -> ResolveAnswer {
        if table != asked.table {
            table = asked.table
            setup = Result { () throws(Failure) in try defaults.router(asked.table) }
        }
        switch setup {
        case .success(let setup):
            return ResolveAnswer(
                setup.router.resolve(asked.url, parameters: asked.parameters), setup.maps)
        case .failure(let refusal): return ResolveAnswer(refusal, url: asked.url)
        case nil: return ResolveAnswer(Failure(.badField, "routes is missing"), url: asked.url)
        }
    }

    /// Compares an answer with what was expected.
    private mutating func line(of asked: ResolveCase, _ answer: ResolveAnswer) -> Line {
        var writer = answer.writer(for: asked.id)
        var ending = Line.Ending.answered
        if !asked.expected.isEmpty {
            expectations += 1
            let differences = asked.expected.sorted { $0.key.rawValue < $1.key.rawValue }
                .flatMap { ExpectedValue.differences($0.value, answer[$0.key], at: $0.key.rawValue) }
            if !differences.isEmpty { failed += 1 }
            ending = differences.isEmpty ? .passed : .failed(differences)
            writer.member("pass", differences.isEmpty)
        }
        writer.endObject()
        let id = asked.id.isNull ? nil : asked.id.stringValue ?? asked.id.text
        return Line(answer: writer.bytes, id: id, url: asked.url, ending: ending)
    }
}
