import ArgumentParser
import Waypost
import WaypostBackend
import WaypostTools

/// How a check prints what it found.
enum CheckFormat: String, CaseIterable, ExpressibleByArgument {
    /// Lines like a compiler's, for people and editors.
    case text
    case json
    /// Workflow commands of GitHub Actions, which become annotations.
    case github
    /// SARIF 2.1.0 (OASIS), which code scanning reads.
    case sarif
    /// JUnit's XML, which most CI systems show as tests.
    case junit

    /// Prints a result.
    ///
    /// - Parameter strict: Whether notes count as mistakes.
    func show(_ result: CheckResult, _ style: Style, strict: Bool) {
        switch self {
        case .text:
            for item in FoldedFindings(result.findings).items { Terminal.print(Self.line(item, style)) }
            let mistakes = TerminalText(result.mistakes)
            let shown = result.refusals + result.problems == 0 ? style.green(mistakes) : mistakes
            Terminal.print("\(result.checked): \(shown)\(result.noted)")
        case .json: Terminal.print(json: .array(result.findings.map(\.json)))
        case .github:
            for item in FoldedFindings(result.findings).items {
                Terminal.print(TerminalText(GitHubCommand.line(item, strict: strict)))
            }
            Terminal.print(TerminalText(result.summary))
        case .sarif: Terminal.print(json: SARIFLog(result, strict: strict).json)
        case .junit: Terminal.print(TerminalText(xml: result.junit(strict: strict).text))
        }
    }

    /// `maps/off.json:12:5: deadRedirect: entry 4 of 9 (app://old): no route matches app://gone`.
    private static func line(_ item: FoldedFindings.Item, _ style: Style) -> TerminalText {
        let kind = TerminalText(item.first.kind.rawValue)
        let place = item.first.place.map { "\($0): " } ?? ""
        return "\(place)\(item.first.kind.isMistake ? style.red(kind) : kind): \(item.message)"
    }
}
