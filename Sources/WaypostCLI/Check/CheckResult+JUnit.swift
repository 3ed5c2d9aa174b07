import Waypost
import WaypostBackend
import WaypostTools

extension CheckResult {
    /// A suite for each file, and in it a test for each mistake.
    ///
    /// - Parameter strict: Whether notes count as mistakes.
    func junit(strict: Bool) -> JUnitReport {
        let inFiles = Dictionary(grouping: findings.filter { $0.place != nil }) { $0.place?.file ?? "" }
        let inNone = findings.filter { $0.place == nil }
        var suites = files.map { Self.suite($0, inFiles[$0] ?? [], strict) }
        if !inNone.isEmpty || suites.isEmpty { suites.insert(Self.suite("routes", inNone, strict), at: 0) }
        return JUnitReport(name: "waypost check", suites: suites)
    }

    private static func suite(_ name: String, _ findings: [CheckFinding], _ strict: Bool) -> JUnitReport.Suite
    {
        let failed = findings.filter { $0.kind.isMistake || strict }
        let notes = findings.filter { !$0.kind.isMistake && !strict }
        var tests = failed.map { finding in
            JUnitReport.Test(
                name: "\(finding.kind.rawValue): \(finding.message)",
                failure: .init(
                    type: finding.kind.rawValue, message: finding.message, text: finding.description),
                place: finding.place)
        }
        // A suite without a test would be taken for one that did not run.
        if tests.isEmpty { tests = [.init(name: "no problems")] }
        return .init(name: name, tests: tests, notes: notes.map(\.description))
    }
}
