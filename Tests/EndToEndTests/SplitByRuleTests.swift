import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import DemoFeatures
@testable import WaypostCLI
@testable import WaypostTools

/// A format is taken apart, and put together, by its own marks.
///
/// What combines with a mark into one character, or ends a line elsewhere, makes no difference. What can't be read is
/// counted.
@Suite struct SplitByRuleTests {
    /// What a mark is followed by: nothing, and what combines with it.
    static let behind = ["", "\u{301}", "\u{20E3}", "\u{200D}", "\u{FE0F}", "\r\n", "\u{2028}"]

    @Test(arguments: behind) func `no text ends its quotes, whatever follows a mark`(_ behind: String) throws
    {
        let text = "a\"\(behind)b\\\(behind)c\n\(behind)d"
        let label = PrometheusText.value(text).unicodeScalars
        for (index, scalar) in label.enumerated() where scalar == "\"" || scalar == "\n" {
            #expect(scalar == "\"" && Array(label)[index - 1] == "\\", "\(String(label).debugDescription)")
        }
        let marks = "<\(behind)&\(behind)>\(behind)|\(behind)`\(behind)"
        #expect(!XMLText.content(marks).unicodeScalars.contains { $0 == "<" || $0 == ">" })
        let route = RouteDescription(path: "a://x", className: marks + text)
        let export = RouteExport(routes: [route])
        let list = export.text(.plist).unicodeScalars
        #expect(list.count { $0 == "<" } == list.count { $0 == ">" })
        #expect(list.count { $0 == "&" } == list.count { $0 == ";" })
        // A row has six bars of its own, and each other one is escaped.
        let row =
            export.text(.markdown).unicodeScalars.split(separator: "\n").last ?? Substring().unicodeScalars
        #expect(
            row.count { $0 == "|" } == row.count { $0 == "\\" } - text.unicodeScalars.count { $0 == "\\" } + 6
        )
        #expect(row.count { $0 == "`" } % 2 == 0)
        // In quotes there are pairs of them, and those that are escaped.
        for line in export.text(.dot).unicodeScalars.split(separator: "\n") {
            let bare = String(Substring(line)).replacingOccurrences(of: "\\\\", with: "", options: .literal)
                .replacingOccurrences(of: "\\\"", with: "", options: .literal)
            #expect(bare.unicodeScalars.count { $0 == "\"" } % 2 == 0, "\(line)")
        }
    }

    @Test func `events that can't be read are counted, and the others are shown`() throws {
        let event = LogEvent(
            time: 1, level: .info, tag: "T", boot: "B", sequence: 1, process: 1, thread: 1,
            message: "a\u{2028}b\u{2029}c\u{85}d\u{B}e")
        let good = event.encoded()
        let payload = good + Array("\nno JSON\n{\"a\":1}\n".utf8) + good
        let found = AgentEvent.Lines(events: payload, from: "k1")
        #expect(found.lines.map(\.event.message) == [event.message, event.message])
        #expect(found.unread == 2)
        #expect(AgentEvent.Lines(failure: Array("{}".utf8), from: "k1").unread == 1)
        #expect(AgentEvent.Lines(failure: [], from: "k1").unread == 0)
        #expect(MessageLoss(unread: 2).notices == ["2 events can't be read"])
    }

    /// What stands between two words, and what it is called.
    struct Mark: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]

        init(_ name: String, _ bytes: UInt8...) { (testDescription, self.bytes) = (name, bytes) }
    }

    static let marks = [
        Mark("LF", 0x0A), Mark("CRLF", 0x0D, 0x0A), Mark("an empty line", 0x0A, 0x0A), Mark("CR", 0x0D),
        Mark("VT", 0x0B), Mark("FF", 0x0C), Mark("U+0085", 0xC2, 0x85), Mark("U+2028", 0xE2, 0x80, 0xA8),
        Mark("NUL", 0), Mark("a byte that is no UTF-8", 0xFF), Mark("a BOM", 0xEF, 0xBB, 0xBF),
        Mark("a record separator", 0x1E),
    ]

    /// What reads several words from bytes.
    struct Reader: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// The marks that separate its words.
        var ends: Set<String>
        /// Words around a mark; throws where it refuses them, or counts them as unread.
        var read: @Sendable ([UInt8]) throws -> [[UInt8]]
    }

    private struct Unread: Error {}

    private static let lineEnds: Set = ["LF", "CRLF", "an empty line"]

    /// One and two as the bytes of `text` around the mark.
    private static func bytes(_ before: String, _ mark: [UInt8], _ after: String) -> [UInt8] {
        Array(before.utf8) + mark + Array(after.utf8)
    }

    static let readers = [
        Reader(testDescription: "lines of a file or of standard input", ends: lineEnds) { mark in
            let file = try ScratchFile(bytes: bytes("\u{FEFF}one", mark, "two"))
            let lines = try LineReader(file.path, purpose: "file")
            var words: [[UInt8]] = []
            while let batch = try lines.next() { words += batch.map { Array($0.bytes) } }
            return words
        },
        Reader(testDescription: "events of an agent", ends: lineEnds) { mark in
            let events = ["one", "two"].map { word in
                LogEvent(
                    time: 1, level: .info, tag: "T", boot: "B", sequence: 1, process: 1, thread: 1,
                    message: word
                ).encoded()
            }
            let found = AgentEvent.Lines(events: events[0] + mark + events[1], from: "k1")
            guard found.unread == 0 else { throw Unread() }
            return found.lines.map { Array($0.event.message.utf8) }
        },
        Reader(testDescription: "settings in YAML", ends: lineEnds.union(["CR"])) { mark in
            let file = try SettingsFile(bytes("agent: one", mark, "root: two"), of: "agent.yaml")
            return ["agent", "root"].compactMap {
                file.settings[$0]?.value.texts.first.map { Array($0.utf8) }
            }
        },
        Reader(testDescription: "settings in JSON", ends: []) { mark in
            let file = try SettingsFile(bytes("{\"root\": \"one", mark, "two\"}"), of: "agent.json")
            return file.settings["root"]?.value.texts.map { Array($0.utf8) } ?? []
        },
        Reader(testDescription: "the profile in use", ends: []) { mark in
            let folder = NSTemporaryDirectory() + "waypost-profiles-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try Data(bytes("one", mark, "two")).write(to: URL(fileURLWithPath: folder + "/current-profile"))
            return try ProfileStore(directory: folder).inUse.map { [Array($0.utf8)] } ?? []
        },
        Reader(testDescription: "entries of the demo's ledger", ends: ["LF", "an empty line"]) { mark in
            let folder = NSTemporaryDirectory() + "waypost-ledger-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try Data(bytes("one", mark, "two")).write(to: URL(fileURLWithPath: folder + "/ledger.txt"))
            let entries = try LedgerService(directory: folder).entries()
            // Read as text, which says where it was none.
            return entries.map { Array($0.replacing("\u{FFFD}", with: "").utf8) }
        },
    ]

    @Test(arguments: readers, marks)
    func `words are separated by the marks of their format, and by others nothing is lost`(
        _ reader: Reader, _ mark: Mark
    ) throws {
        let words: [[UInt8]]
        do {
            words = try reader.read(mark.bytes)
        } catch {
            // It says so.
            #expect(!reader.ends.contains(mark.testDescription), "\(error)")
            return
        }
        if reader.ends.contains(mark.testDescription) {
            #expect(words == [Array("one".utf8), Array("two".utf8)])
        } else {
            let whole = mark.bytes == [0xFF] ? [[], mark.bytes] : [mark.bytes]
            // A part of the mark may end a line: the rest of it is kept.
            let found = Array(words.joined(separator: [0x0A]))
            #expect(whole.contains { found == Self.bytes("one", $0, "two") }, "\(words)")
        }
    }

    @Test(arguments: readers) func `the last word needs no end, and one more end adds no word`(
        _ reader: Reader
    )
        throws
    {
        guard reader.ends.contains("LF") else { return }
        #expect(try reader.read([0x0A]) == reader.read([0x0A, 0x0A, 0x0A]))
    }

    @Test(arguments: ["\u{85}", "\u{2028}", "\u{2029}"])
    func `what ends a line in one version of YAML only is refused, with its line`(end: String) throws {
        let error = #expect(throws: CommandError.self) {
            try SettingsFile(Array("agent: k1\nroot: \"a\(end)b\"\n".utf8), of: "agent.yaml")
        }
        #expect(try #require(error).description.contains("line 2: it has U+"))
        // JSON has no such rule.
        let file = try SettingsFile(Array("{\"root\": \"a\(end)b\"}".utf8), of: "agent.json")
        #expect(file.settings["root"]?.value.texts == ["a\(end)b"])
    }

    @Test func `a filter is compared byte by byte, as the broker does`() {
        for root in ["\u{301}x", "e\u{301}", "a"] {
            #expect(Topics(root: root)?.root == root)
        }
        #expect(Topics(root: "a/\u{301}") != nil && Topics(root: "a//\u{301}") == nil)
    }

    @Test(arguments: ["\n", "\r", "\r\n"]) func `a key may have any end of line`(end: String) throws {
        let text =
            "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
            + "-----END PRIVATE KEY-----\n"
        let key = try SigningKey(text: text)
        #expect(try SigningKey(text: text.replacing("\n", with: end)).verifyingKey == key.verifyingKey)
        #expect(throws: (any Error).self) { try SigningKey(text: text.replacing("\n", with: "\u{2028}")) }
        #expect(throws: (any Error).self) { try VerifyingKey(text: text) }
    }
}
