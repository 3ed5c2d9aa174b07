import Foundation
import Testing
import Waypost

@testable import WaypostCLI

/// What a terminal may show of what came from outside.
@Suite struct TerminalTextTests {
    private static let unsafe: [ClosedRange<UInt32>] = [
        0...0x1F, 0x7F...0x9F, 0x61C...0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x206F,
        0xE0000...0xE007F,
    ]

    @Test func `everything that a terminal could obey is escaped, and nothing else`() {
        let hidden = Self.unsafe.joined().compactMap(Unicode.Scalar.init)
        for scalar in hidden {
            let text = "a\(Character(scalar))b"
            #expect(TerminalText(text).text == "a\(scalar.escaped(asASCII: true))b")
            #expect(TerminalText("\(text)") == TerminalText(text))
        }
        for text in ["é", "e\u{301}", "中文", "👩‍👩‍👧", "−", "\u{A0}", "שלום", "\\u{1B}", "\"'"] {
            #expect(TerminalText(text).text == text)
        }
    }

    @Test func `only our own colours pass, also around text that holds some`() {
        let style = Style(isOn: true)
        let line: TerminalText = "\(style.red("\("\u{1B}[32mgreen")")): \("\u{1B}[0m")"
        #expect(line.text == "\u{1B}[31m\\u{1B}[32mgreen\u{1B}[0m: \\u{1B}[0m")
        #expect(TerminalText(lines: "a\n\tb\r\u{1B}").text == "a\n\tb\\r\\u{1B}")
        #expect(TerminalText(xml: "<a>\n\u{202E}\u{1B}</a>").text == "<a>\n&#x202e;&#x1b;</a>")
    }

    @Test func `JSON keeps its meaning, and has nothing in it that a terminal could obey`() throws {
        for scalar in Self.unsafe.joined().compactMap(Unicode.Scalar.init) where scalar.value >= 0x20 {
            let value: JSONValue = ["k\(Character(scalar))": .string("v\(Character(scalar))\u{1F600}é")]
            let escaped = TerminalJSON.escaped(value.serialized())
            let text = String(decoding: escaped, as: UTF8.self)
            #expect(text.printable == text)
            #expect(try JSONValue(parsing: escaped) == value)
        }
        #expect(TerminalJSON.escaped(Array("{\"a\":\r\t1}\n".utf8)) == Array("{\"a\":  1}\n".utf8))
    }

    @Test func `nothing in the executable prints but the one type that escapes`() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Sources/WaypostCLI")
        let forbidden =
            /(^|[^.\w])(debugPrint|dump|print|puts|fputs|fputc|putchar|fwrite|fprintf|vprintf|writev)\(|FileHandle\.standard|STDOUT_FILENO|STDERR_FILENO|\bstdout\b|\bstderr\b|\/dev\/std|\/proc\/self\/fd\/[12]\b|withError:|vocation(\.current)?\.(output|errors)\b/
        // What asks for a descriptor's kind and prints nothing.
        let asking = /isatty\(|wantsColours\(|tcgetattr|tcsetattr|ioctl\(|pollfd\(/
        var found: [String] = []
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            count += 1
            guard !["Terminal.swift", "Invocation.swift"].contains(file.lastPathComponent) else { continue }
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            where line.contains(forbidden) && !line.contains(asking)
                && !line.drop(while: \.isWhitespace).hasPrefix("//")
            {
                found.append("\(file.lastPathComponent): \(line)")
            }
        }
        #expect(count > 50)
        #expect(found.isEmpty, "\(found)")
    }
}
