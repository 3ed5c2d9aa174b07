import Foundation
import Testing
import Waypost

@testable import WaypostCLI

/// What a terminal may show of what came from outside.
@Suite struct TerminalTextTests {
    /// The characters that no one sees, as ranges, which the console's page is held to as well.
    private static let unsafe: [ClosedRange<UInt32>] = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Vectors/unseen.txt")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let ends = line.split(separator: ".").compactMap { UInt32($0, radix: 16) }
            return ends.count == 2 ? ends[0]...ends[1] : nil
        }
    }()

    @Test func `what no one sees is the same for Unicode's data here and for the console's page`() {
        let listed = Set(Self.unsafe.joined())
        let wrong = (0...0x10FFFF).compactMap(Unicode.Scalar.init).filter {
            $0.isUnseen != listed.contains($0.value)
        }
        #expect(listed.count > 4_000 && wrong.isEmpty, "\(wrong.map { String($0.value, radix: 16) })")
    }

    @Test func `everything that a terminal could obey is escaped, and nothing else`() {
        let hidden = Self.unsafe.joined().compactMap(Unicode.Scalar.init)
        for scalar in hidden {
            let text = "a\(Character(scalar))b"
            #expect(TerminalText(text).text == "a\(scalar.escaped(asASCII: true))b")
            #expect(TerminalText("\(text)") == TerminalText(text))
        }
        for text in [
            "é", "e\u{301}", "中文", "👩‍👩‍👧", "❤️", "❤️‍🔥", "👋🏽", "−", "10\u{202F}000", "שלום", "\\u{1B}", "\"'",
        ] {
            #expect(TerminalText(text).text == text)
        }
        #expect(TerminalText("a\u{200D}b 1\u{FE0F}\u{202F}").text == "a\\u{200D}b 1\\u{FE0F}\\u{202F}")
    }

    /// The page's tests read the same lines.
    @Test func `a mark that belongs to no letter, or is one too many, is escaped`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Vectors/marks.jsonl")
        let rows = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        #expect(rows.count > 10)
        for row in rows {
            let json = try JSONValue(parsing: String(row))
            let (text, shown) = try (
                #require(json["text"]?.stringValue), #require(json["shown"]?.stringValue)
            )
            #expect(TerminalText(text).text == shown, "\(row)")
            #expect(TerminalText(text).text.unicodeScalars.elementsEqual(shown.unicodeScalars), "\(row)")
            let escaped = TerminalJSON.escaped(JSONValue.string(text).serialized())
            #expect(String(decoding: escaped, as: UTF8.self).printable.utf8.elementsEqual(escaped), "\(row)")
            #expect(try JSONValue(parsing: escaped) == .string(text))
            #expect(text.unseenScalars.isEmpty == (text == shown), "\(row)")
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

    @Test func `nothing in the executable prints but the one type that escapes`() async throws {
        let forbidden =
            #"(^|[^.\w])(debugPrint|dump|print|puts|fputs|fputc|putchar|fwrite|fprintf|vprintf|writev)\(|FileHandle\.standard|STDOUT_FILENO|STDERR_FILENO|\bstdout\b|\bstderr\b|/dev/std|/proc/self/fd/[12]\b|withError:|vocation(\.current)?\.(output|errors)\b"#
        // What asks for a descriptor's kind and prints nothing.
        let asking = /isatty\(|wantsColours\(|tcgetattr|tcsetattr|ioctl\(|pollfd\(/
        // The last two hold what another program prints.
        let exempt = ["/Terminal.swift", "/Invocation.swift", "/NewPackage.swift", "/PythonRuntime.swift"]
        let found = try await SourceLines.matching(forbidden, in: "WaypostCLI").filter { file, line in
            !exempt.contains(where: file.hasSuffix) && !line.contains(asking)
        }
        #expect(found.isEmpty, "\(found)")
    }
}
