import Foundation
import MQTTLink
import Testing
import WaypostAgent

/// Each block of Swift in the README and the documentation is one of the snippets in this folder, which compile.
///
/// A snippet stands between the lines `// snippet` and `// end snippet`, indented as its surroundings want it.
@Suite struct `The documentation` {
    @Test func `shows only Swift that compiles`() throws {
        let snippets = try Set(Place.snippets().map(\.text))
        #expect(!snippets.isEmpty)
        for block in try Place.blocks() where !snippets.contains(block.text) {
            Issue.record(
                "\(block) is not among the snippets in Tests/SnippetTests; it begins with: \(block.firstLine)"
            )
        }
    }

    @Test func `shows every snippet that is kept for it`() throws {
        let blocks = try Set(Place.blocks().map(\.text))
        for snippet in try Place.snippets() where !blocks.contains(snippet.text) {
            Issue.record("\(snippet) stands on no page; it begins with: \(snippet.firstLine)")
        }
    }

    @Test func `names only tests that exist`() throws {
        let page = "Sources/WaypostAgent/WaypostAgent.docc/Guarantees.md"
        let files = try Place.files(in: "Tests", ending: ".swift").map { try Data(Place.text(of: $0).utf8) }
        var promises: Set<Int> = []
        for line in try Place.text(of: page).split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 2, cells[1].hasPrefix("`") else { continue }
            promises.formUnion(cells[0].split { !$0.isNumber }.compactMap { Int($0) })
            let names = cells[1].components(separatedBy: " › ")
            let isThere =
                names.count == 2
                && files.contains { Self.declares(in: $0, suite: names[0], test: names[1]) }
            #expect(isThere, "\(page) names \(cells[1]), which is no test of such a suite")
        }
        let headings = try Place.text(of: page).split(separator: "\n").count { $0.hasPrefix("### ") }
        #expect(promises == Set(1...headings))
    }

    @Test func `names for each place where harm can be tried a test that exists`() throws {
        let page = "Sources/WaypostAgent/WaypostAgent.docc/HostileInput.md"
        let files = try Place.files(in: "Tests", ending: ".swift").map { try Data(Place.text(of: $0).utf8) }
        let console = try Place.files(in: "Tests/ConsoleTests", ending: ".py").map { try Place.text(of: $0) }
        var rows: [Int] = []
        for line in try Place.text(of: page).split(separator: "\n") {
            if line.hasPrefix("### ") { rows.append(0) }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("| "), cells.count == 3, cells[2] != "Test" else { continue }
            rows[rows.count - 1] += 1
            let names = cells[2].components(separatedBy: " › ")
            guard names.count == 2 else {
                #expect(cells[2].hasPrefix("`scripts/"), "\(page) names \(cells[2]), which is no test")
                continue
            }
            let word = names[1].filter { $0 != "`" }
            let isThere =
                names[0].hasSuffix(".py`")
                ? console.contains { $0.contains("def \(word)(") }
                : files.contains { Self.declares(in: $0, suite: names[0], test: names[1]) }
            #expect(isThere, "\(page) names \(cells[2]), which is no test of such a suite")
        }
        #expect(rows.count == 13 && rows.allSatisfy { $0 >= 2 })
    }

    /// Whether a file has a suite, or a part of it, with this test; both are in backquotes.
    private static func declares(in file: Data, suite: String, test: String) -> Bool {
        func has(_ words: String) -> Bool { file.range(of: Data(words.utf8)) != nil }
        let word = suite.filter { $0 != "`" }
        return has("\(test)(")
            && ["struct", "class", "extension"].contains { has("\($0) \(suite)") || has("\($0) \(word)") }
    }

    @Test func `lists every setting with its default, its range and its meaning`() throws {
        let page = try Place.text(of: "Sources/WaypostAgent/WaypostAgent.docc/Operating.md")
        let defaults = AgentConfiguration(
            agent: "k1", stateDirectory: "", link: MQTTLinkConfiguration(brokers: [], clientID: "k1"))
        for setting in AgentNumber.all {
            let range = "\(setting.range.lowerBound) to \(setting.range.upperBound)"
            let row =
                "| `\(setting.name)` | \(setting.get(defaults)) | \(range) | \(setting.unit) | \(setting.meaning) |"
            #expect(page.contains(row + "\n"), "Operating.md has no row \(row)")
        }
        for setting in AgentSetting.others + AgentSetting.broker {
            let row = "| `\(setting.name)` | \(setting.standard ?? "") | \(setting.meaning) |"
            #expect(page.contains(row + "\n"), "Operating.md has no row \(row)")
        }
        // What the page says of SIGHUP.
        for (reload, begin, end) in [
            (AgentSetting.Reload.atOnce, "| ", " | change at once |"),
            (.reconnect, "| ", ", or what is in these files | the agent connects again"),
        ] {
            let names = AgentSetting.all.filter { $0.reload == reload }.map { "`\($0.name)`" }
            let row = begin + names.joined(separator: ", ") + end
            #expect(page.contains(row), "Operating.md has no row \(row)")
        }
    }
}

/// A piece of Swift in a file of the repository.
private struct Place: CustomStringConvertible {
    let file: String
    let line: Int
    /// The lines without the indentation that all of them share.
    let text: String

    var description: String { "\(file):\(line)" }
    var firstLine: Substring { text.prefix { $0 != "\n" } }

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardizedFileURL

    /// The blocks that are fenced as Swift.
    static func blocks() throws -> [Place] {
        var pages = try files(in: "Sources", ending: ".md")
        if FileManager.default.fileExists(atPath: root.appendingPathComponent("README.md").path) {
            pages.append("README.md")
        }
        return try pages.flatMap { try cut($0, from: "```swift", to: "```") }
    }

    static func snippets() throws -> [Place] {
        try files(in: "Tests/SnippetTests", ending: ".swift").flatMap {
            try cut($0, from: "// snippet", to: "// end snippet")
        }
    }

    /// The paths of the files below a folder.
    static func files(in folder: String, ending suffix: String) throws -> [String] {
        let below = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path)
        // Packages below have build folders of their own.
        let paths = (below?.compactMap { $0 as? String } ?? []).filter {
            $0.hasSuffix(suffix) && !$0.contains(".build")
        }
        #expect(!paths.isEmpty, "\(folder) has no \(suffix)")
        return paths.sorted().map { "\(folder)/\($0)" }
    }

    static func text(of file: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
    }

    private static func cut(_ file: String, from start: String, to end: String) throws -> [Place] {
        var places: [Place] = []
        var open: (line: Int, lines: [Substring])?
        let lines = try text(of: file).split(separator: "\n", omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() {
            let mark = line.trimmingCharacters(in: .whitespaces)
            if let (first, lines) = open {
                if mark == end {
                    places.append(Place(file: file, line: first, text: unindented(lines)))
                    open = nil
                } else {
                    open = (first, lines + [line])
                }
            } else if mark == start {
                open = (number + 1, [])
            }
        }
        #expect(open == nil, "\(file): what begins at line \(open?.line ?? 0) has no end")
        return places
    }

    private static func unindented(_ lines: [Substring]) -> String {
        let filled = lines.filter { !$0.allSatisfy(\.isWhitespace) }
        let indentation = filled.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return lines.map { $0.allSatisfy(\.isWhitespace) ? "" : String($0.dropFirst(indentation)) }
            .joined(separator: "\n").trimmingCharacters(in: .newlines)
    }
}
