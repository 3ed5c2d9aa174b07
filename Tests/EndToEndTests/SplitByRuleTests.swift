import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

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
        let found = LogLines(events: payload, from: "k1")
        #expect(found.lines.map(\.event.message) == [event.message, event.message])
        #expect(found.unread == 2)
        #expect(LogLines(failure: Array("{}".utf8), from: "k1").unread == 1)
        #expect(LogLines(failure: [], from: "k1").unread == 0)
        #expect(MessageLoss(unread: 2).notices == ["2 events can't be read"])
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
