import Waypost
import WaypostBackend

extension CommandCheck {
    /// What is wrong, or doubtful, about the commands of a file, one JSON object a line, in the order of the lines.
    func findings(_ file: String) throws(CommandError) -> [CheckReport.Finding] {
        let lines = try LineReader(file, purpose: "commands file")
        var findings: [CheckReport.Finding] = []
        while let batch = try lines.next() {
            for line in batch {
                findings += self.findings(
                    line.isWhole ? Array(line.bytes) : nil, at: "\(file) line \(line.number)")
            }
        }
        return findings
    }
}
