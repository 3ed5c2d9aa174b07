import Waypost
import WaypostBackend
import WaypostMessages
import WaypostTools

/// What a check found as a log of SARIF 2.1.0 (OASIS), with one run.
struct SARIFLog {
    private let result: CheckResult
    private let strict: Bool

    init(_ result: CheckResult, strict: Bool) {
        self.result = result
        self.strict = strict
    }

    var json: JSONValue {
        let kinds = CheckReport.Finding.Kind.allCases.filter { kind in
            result.findings.contains { $0.kind == kind }
        }
        let numbers = Dictionary(uniqueKeysWithValues: kinds.enumerated().map { ($1, Int64($0)) })
        let rules: [JSONValue] = kinds.map { kind in
            [
                "id": .string(kind.rawValue), "shortDescription": ["text": .string(kind.summary)],
                "defaultConfiguration": ["level": .string(kind.isMistake ? "error" : "note")],
            ]
        }
        let driver: JSONValue = [
            "name": "waypost", "version": .string(Version.current), "rules": .array(rules),
        ]
        let run: JSONValue = [
            "tool": ["driver": driver], "columnKind": "unicodeCodePoints",
            "results": .array(result.findings.map { self.result($0, numbers[$0.kind] ?? 0) }),
        ]
        return [
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run],
        ]
    }

    private func result(_ finding: CheckFinding, _ rule: Int64) -> JSONValue {
        var members: [String: JSONValue] = [
            "ruleId": .string(finding.kind.rawValue), "ruleIndex": .int(rule),
            "level": .string(finding.kind.isMistake || strict ? "error" : "note"),
            "message": ["text": .string(finding.message)],
            "locations": .array([finding.place].compactMap(\.self).map(location)),
        ]
        if !finding.others.isEmpty { members["relatedLocations"] = .array(finding.others.map(location)) }
        return .object(members)
    }

    private func location(_ place: FilePlace) -> JSONValue {
        var physical: [String: JSONValue] = ["artifactLocation": ["uri": .string(Self.uri(place.file))]]
        if let line = place.line {
            var region: [String: JSONValue] = ["startLine": .int(Int64(line))]
            if let column = place.column { region["startColumn"] = .int(Int64(column)) }
            physical["region"] = .object(region)
        }
        return ["physicalLocation": .object(physical)]
    }

    /// A path as a reference (RFC 3986): absolute ones with a scheme, relative ones without.
    private static func uri(_ path: String) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let encoded = parts.map { PercentCoding.encode($0, for: .component) }.joined(separator: "/")
        return path.hasPrefix("/") ? "file://\(encoded)" : encoded
    }
}
