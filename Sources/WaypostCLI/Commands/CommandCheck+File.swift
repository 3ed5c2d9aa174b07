import WaypostBackend
import WaypostTools

extension CommandCheck {
    /// What is wrong, or doubtful, about the commands of a file, one JSON object a line, in the order of the lines.
    func findings(_ file: String) throws(CommandError) -> [CheckFinding] {
        let lines = try LineReader(file, purpose: "commands file")
        var findings: [CheckFinding] = []
        while let batch = try lines.next() {
            for line in batch {
                let place = FilePlace(file: FilePlace.name(file), line: line.number)
                findings += self.findings(line.isWhole ? Array(line.bytes) : nil, at: place.description)
                    .map { CheckFinding($0, at: place) }
            }
        }
        return findings
    }
}
