import Waypost
import WaypostBackend
import WaypostTools

/// A workflow command of GitHub Actions: `::error file=…,line=…,col=…,title=…::message`.
enum GitHubCommand {
    static func line(_ item: FoldedFindings.Item, strict: Bool) -> String {
        let finding = item.first
        var properties: [(String, String)] = []
        if let place = finding.place {
            properties.append(("file", place.file))
            if let line = place.line { properties.append(("line", "\(line)")) }
            if let column = place.column { properties.append(("col", "\(column)")) }
        }
        properties.append(("title", finding.kind.rawValue))
        let level = finding.kind.isMistake || strict ? "error" : "notice"
        let list = properties.map { "\($0.0)=\(escaped($0.1, isProperty: true))" }.joined(separator: ",")
        return "::\(level) \(list)::\(escaped(item.message, isProperty: false))"
    }

    private static func escaped(_ text: String, isProperty: Bool) -> String {
        text.escaping { scalar in
            switch scalar {
            case "%": "%25"
            case "\r": "%0D"
            case "\n": "%0A"
            case ":" where isProperty: "%3A"
            case "," where isProperty: "%2C"
            default: nil
            }
        }
    }
}
