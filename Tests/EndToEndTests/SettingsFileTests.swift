import Configuration
import TestSupport
import Testing
import Waypost

@testable import WaypostCLI

/// What a configuration file may hold, and what is said of one that can't be read.
struct SettingsFileTests {
    /// A file by its text, which is nowhere on the disk.
    private func file(_ text: String, _ name: String = "agent.yaml") throws(CommandError) -> SettingsFile {
        try SettingsFile(Array(text.utf8), of: name)
    }

    private func error(_ bytes: [UInt8], _ name: String = "agent.yaml") -> String? {
        do {
            _ = try SettingsFile(bytes, of: name)
            return nil
        } catch {
            return error.exit == .usage ? error.description : "\(error.exit)"
        }
    }

    /// A value as a setting of each kind reads it.
    struct Reading: Sendable {
        let written: String
        var text: String?
        var number: Int?
        var flag: Bool?

        init(_ written: String, text: String? = nil, number: Int? = nil, flag: Bool? = nil) {
            self.written = written
            (self.text, self.number, self.flag) = (text, number, flag)
        }
    }

    @Test(arguments: [
        Reading("k1", text: "k1"), Reading("k1 # the first", text: "k1"), Reading("a#b", text: "a#b"),
        Reading("mqtt://127.0.0.1:1883", text: "mqtt://127.0.0.1:1883"), Reading("größe", text: "größe"),
        Reading("\"a\\tb\\u00fc\"", text: "a\tbü"), Reading("'it''s'", text: "it's"),
        Reading("|\n  one\n  two\n", text: "one\ntwo\n"), Reading(">\n  one\n  two\n", text: "one two\n"),
        Reading("a\n  b", text: "a b"), Reading("", text: ""), Reading("~", text: "~"),
        Reading("null", text: "null"), Reading("&name k1", text: "k1"),
        Reading("007", text: "007", number: 7), Reading("010", text: "010", number: 8),
        Reading("12345", text: "12345", number: 12_345), Reading("0", text: "0", number: 0),
        Reading("-5", text: "-5", number: -5), Reading("+5", text: "+5", number: 5),
        Reading("1_000", text: "1_000", number: 1_000), Reading("0x1F", text: "0x1F", number: 31),
        Reading("0o10", text: "0o10", number: 8), Reading("-0b101", text: "-0b101", number: -5),
        Reading("9223372036854775807", text: "9223372036854775807", number: .max),
        Reading("9223372036854775808", text: "9223372036854775808"),
        Reading("08", text: "08"), Reading("1.5", text: "1.5"), Reading("1e3", text: "1e3"),
        Reading("1:30", text: "1:30"), Reading("0x", text: "0x"), Reading("0x-5", text: "0x-5"),
        Reading("--5", text: "--5"), Reading("_", text: "_"), Reading("٣", text: "٣"),
        Reading("\"5\"", text: "5"), Reading("!!str 5", text: "5"), Reading("!!int 5", text: "5", number: 5),
        Reading("true", text: "true", flag: true), Reading("Yes", text: "Yes", flag: true),
        Reading("ON", text: "ON", flag: true), Reading("off", text: "off", flag: false),
        Reading("NO", text: "NO", flag: false), Reading("False", text: "False", flag: false),
        Reading("tRUE", text: "tRUE"), Reading("'true'", text: "true"), Reading("!!str on", text: "on"),
    ])
    func `a value in YAML is what its setting asks for`(_ reading: Reading) throws {
        let value = try file("# one\n\nagent: \(reading.written)\n").settings["agent"]
        #expect(value?.line == 3)
        #expect(value?.value.text == reading.text)
        #expect(value?.value.number == reading.number)
        #expect(value?.value.flag == reading.flag)
        #expect(value?.value.list == nil)
    }

    @Test(arguments: [
        Reading("\"k1\"", text: "k1"), Reading("\"\"", text: ""), Reading("\"5\"", text: "5"),
        Reading("\"true\"", text: "true"), Reading("5", number: 5, flag: true),
        Reading("0", number: 0, flag: false), Reading("5.0", number: 5, flag: true),
        Reading("1.5", flag: true), Reading("1e300", flag: true), Reading("true", flag: true),
        Reading("false", flag: false),
    ])
    func `a value in JSON is what it is`(_ reading: Reading) throws {
        let value = try file(#"{"agent": \#(reading.written)}"#, "agent.json").settings["agent"]
        #expect(value?.line == nil)
        #expect(value?.value.text == reading.text)
        #expect(value?.value.number == reading.number)
        #expect(value?.value.flag == reading.flag)
    }

    @Test(
        arguments: [
            ("group: [a, 007, 'true', \"\"]", "agent.yaml", ["a", "007", "true", ""]),
            ("group:\n- a\n- 1.50 # one and a half\n-\n", "agent.yaml", ["a", "1.50", ""]),
            ("group:\n    - !!str 5\n    - &x b\n", "agent.yaml", ["5", "b"]),
            ("group: []", "agent.yaml", []), (#"{"group": ["a", "b"]}"#, "agent.yaml", ["a", "b"]),
            (#"{"group": ["a", "b"]}"#, "agent.json", ["a", "b"]), (#"{"group": []}"#, "agent.json", []),
        ] as [(String, String, [String])])
    func `a list keeps its texts as they are written`(_ text: String, _ name: String, _ list: [String]) throws
    {
        #expect(try file(text, name).settings["group"]?.value.list == list)
    }

    @Test func `each name has its line`() throws {
        let text =
            "%YAML 1.1\n---\n# the name\nagent: k1\n\"group\":\n  - a\n\n'root': |\n  x\ndemo: on\n...\n# the end\n"
        let settings = try file(text).settings
        #expect(settings.mapValues(\.line) == ["agent": 4, "group": 5, "root": 8, "demo": 10])
        #expect(try file("{}").settings.isEmpty)
        #expect(try file("{}", "agent.json").settings.isEmpty)
        #expect(try file(#"{"agent":null}"#, "agent.json").settings.isEmpty)
    }

    @Test func `ends of lines and a byte order mark are as the editor has them`() throws {
        let yaml = try ScratchFile("\u{FEFF}agent: k1\r\nroot: r\r\n", name: "agent.yaml")
        #expect(try SettingsFile(yaml.path).settings["root"]?.line == 2)
        let json = try ScratchFile("\u{FEFF}{\"agent\": \"k1\"}", name: "agent.json")
        #expect(try SettingsFile(json.path).settings["agent"]?.value.text == "k1")
        #expect(try file("agent: k1").settings["agent"]?.value.text == "k1")
    }

    @Test(
        arguments: [
            ("", ": it has no settings; one is written as NAME: VALUE"),
            ("# agent: k1\n", ": it has no settings; one is written as NAME: VALUE"),
            ("---\n", ", line 2: found nothing, where a setting is written as NAME: VALUE"),
            ("- agent\n", ", line 1: found a list, where a setting is written as NAME: VALUE"),
            ("\nagent k1\n", ", line 2: found a text, where a setting is written as NAME: VALUE"),
            ("agent: k1\nbrokr: x\n", #", line 2: there is no setting "brokr"; did you mean broker?"#),
            ("? [a]\n: b\n", ", line 1: found a list in the place of a name"),
            ("agent: k1\n*x : b\n", ", line 2: found an alias in the place of a name"),
            ("agent: k1\n\nroot: r\nagent: k2\n", ", line 4: agent is set a second time, after line 1"),
            ("broker:\n  url: x\n", ", line 2: url is below another name; settings are not nested"),
            ("broker: {url: x}\n", ", line 1: url is below another name; settings are not nested"),
            ("broker: {}\n", ", line 1: broker is a mapping; settings are not nested"),
            ("broker:\n- a\n- [b]\n", ", line 3: broker is a list of texts; found a list in it"),
            ("broker: [{a: b}]\n", ", line 1: broker is a list of texts; found a mapping in it"),
            ("root: &r a\nagent: *r\n", ", line 2: agent is an alias; write the value itself"),
            ("group: &g [a, *g]\n", ", line 1: group is a list of texts; found an alias in it"),
            ("agent: k1\n---\nagent: k2\n", ", line 2: a second document begins; settings are one document"),
            ("agent: !env NAME\n", #", line 1: the tag "!env" is not supported here"#),
            ("agent: \"a\\0b\"\n", ", line 1: agent holds the character NUL"),
            (
                "agent: k1\n\troot: r\n",
                ", line 2: found a tab character that violates indentation while scanning a plain scalar "
                    + "that begins in line 1"
            ),
            (
                "group:\n \t- a\n",
                ", line 2: found character that cannot start any token while scanning for the next token; "
                    + "YAML indents by spaces, never by tabs"
            ),
            (
                "agent: k1\n  root: r\n",
                ", line 2: mapping values are not allowed in this context"
            ),
            (
                "agent: [k1\n",
                ", line 2: did not find expected ',' or ']' while parsing a flow sequence that begins in line 1"
            ),
            (
                "agent: \"k1\n\n",
                ", line 3: found unexpected end of stream while scanning a quoted scalar that begins in line 1"
            ),
        ])
    func `of YAML that can't be read the line is told, and what is there`(_ text: String, _ finding: String) {
        #expect(error(Array(text.utf8)) == "configuration file agent.yaml\(finding)")
    }

    @Test(
        arguments: [
            ("", ", line 1: the text is empty"),
            ("[1]", ": it must be one JSON object, of names and values"),
            ("{\n\"agent\": \"k1\",\n}", ", line 3: expected a key in quotes at byte 17"),
            (
                #"{"agent":"a","agent":"b"}"#,
                #", line 1: the key "agent" at byte 13 occurs twice in its object"#
            ),
            (#"{"agent":"a","brokr":"b"}"#, #": there is no setting "brokr"; did you mean broker?"#),
            (#"{"broker":{"url":"x"}}"#, ": url is below another name; settings are not nested"),
            (#"{"broker":{}}"#, ": broker must be a text, a number, true, false or a list of texts"),
            (#"{"brokr":null}"#, #": there is no setting "brokr"; did you mean broker?"#),
            (#"{"group":[null]}"#, ": group must be a text, a number, true, false or a list of texts"),
            (#"{"group":["a",1]}"#, ": group must be a text, a number, true, false or a list of texts"),
            (#"{"agent":"a\u0000b"}"#, ": agent holds the character NUL"),
        ])
    func `of JSON that can't be read the place is told, and what is there`(_ text: String, _ finding: String)
    {
        #expect(error(Array(text.utf8), "agent.json") == "configuration file agent.json\(finding)")
    }

    @Test(
        arguments: [
            (
                Array("agent: k1\nroot: ".utf8) + [0xFF, 0x0A],
                ", line 2: not UTF-8 text, invalid leading UTF-8 octet: 0xff"
            ),
            (
                Array("agent: k1\n\nroot: a".utf8) + [0, 0x0A],
                ", line 3: not UTF-8 text, control characters are not allowed: 0x0"
            ),
            (
                Array("agent: k1\nroot: ".utf8) + [0xC3],
                ", line 2: not UTF-8 text, incomplete UTF-8 octet sequence"
            ),
            (
                [0xFF, 0xFE, 0x61, 0, 0x3A, 0, 0x20, 0, 0x62, 0],
                ", line 1: not UTF-8 text, invalid leading UTF-8 octet: 0xff"
            ),
        ] as [([UInt8], String)])
    func `bytes that are no text are named with their line`(_ bytes: [UInt8], _ finding: String) {
        #expect(error(bytes) == "configuration file agent.yaml\(finding)")
    }

    @Test func `a file that is too long, or has a name that is, is refused without its text`() {
        let long = Array(repeating: UInt8(ascii: "#"), count: 10 << 20)
        for name in ["agent.yaml", "agent.json"] {
            #expect(error(long, name) == "configuration file \(name): it is longer than 256 KiB")
        }
        let name = String(repeating: "a\u{301}", count: 300)
        #expect(
            error(Array("agent: k1\n\(name): x\n".utf8))
                == "configuration file agent.yaml, line 2: there is no setting with a name of 900 bytes")
        #expect(
            error(Array("agent: {\(name): x}\n".utf8))
                == "configuration file agent.yaml, line 1: a name is below another name; settings are not nested"
        )
    }

    @Test(
        .timeLimit(.minutes(60)),
        arguments: [
            "[", "{", "agent: [", "agent: {a: ", "? ", "- ", "agent: - ", "&a ", "!a ", "agent: !!str ", "'",
            "\"\\",
            "%TAG !a! b\n", "agent: &a [*a, ", "a: b: ", "\n", " ", "\t", "---\n", "...\n", "#\n", ", ",
            "|\n", "a: >\n  b",
            "\u{301}\u{316}", "!<%CC%81%CC%96",
        ])
    func `what is nested or repeated without an end is refused, and soon`(_ unit: String) {
        func text(_ start: String) -> [UInt8] {
            Array((start + String(repeating: unit, count: (250 << 10) / unit.utf8.count)).utf8)
        }
        for start in ["", "agent: [", "agent: {"] {
            #expect(error(text(start)) != nil, "\(start)")
        }
        // Some are a text, or nothing, after a name.
        _ = error(text("agent: "))
        #expect(error(text(""), "agent.json") != nil)
    }

    @Test(arguments: [
        "mqtt://broker.example", "", "007", "true", "null", "~", "a: b", "# a", " a ", "- a", "*a", "&a",
        "!a", "%a", "@a",
        "it's", "\"quoted\"", "back\\slash", "line\nend\r\ttab", "\u{1}\u{8}\u{C}\u{1F}", "größe 🚀", "{a}",
        "[a]", "|", ">", "?",
    ])
    func `a text in the form of JSON is the same in YAML, as profiles are written`(_ text: String) throws {
        let json = JSONValue.string(text).text
        let settings = try file("agent: \(json)\ngroup: [\(json), \(json)]\n").settings
        #expect(settings["agent"]?.value == SettingValue(yaml: text, isPlain: false))
        #expect(settings["group"]?.value.list == [text, text])
    }

    @Test func `no damage to a file does more than have it refused`() {
        let yaml =
            "%YAML 1.1\n---\nagent: k1 # x\n\"broker\": [mqtt://a, 'b']\ngroup:\n  - a\n  - |\n    b\nroot: &r !!str \"\\u00fc\"\ndemo: on\n...\n"
        let json = #"{"agent":"k1\u00fc","broker":["a","b"],"demo":true,"dedupe-keys":5e1,"root":"r"}"#
        let bytes = Array("\0\t\n !\"#%&'*,-.:>?@[\\]{|}~a\u{85}\u{2028}\u{301}".utf8) + [0xFF, 0xC3, 0xF4]
        var generator = SeededGenerator(seed: 20)
        for (text, name) in [(yaml, "agent.yaml"), (json, "agent.json"), (json, "agent.yaml")] {
            var refused = 0
            for _ in 0..<2_000 {
                var damaged = Array(text.utf8)
                for _ in 0..<Int.random(in: 1...6, using: &generator) {
                    let place = Int.random(in: 0..<damaged.count, using: &generator)
                    let byte = bytes[Int.random(in: 0..<bytes.count, using: &generator)]
                    switch Int.random(in: 0...3, using: &generator) {
                    case 0: damaged[place] = byte
                    case 1: damaged.insert(byte, at: place)
                    case 2 where damaged.count > 1: damaged.remove(at: place)
                    default: damaged = Array(damaged[..<place] + damaged[(place / 2)...])
                    }
                }
                guard let error = error(damaged, name) else { continue }
                refused += 1
                #expect(error.hasPrefix("configuration file \(name)"), "\(error)")
            }
            #expect(refused > 1_000)
        }
    }

    @Test func `a file on the disk is read by each kind of setting`() async throws {
        let scratch = try ScratchFile(
            "agent: 007\nlog-ring: 500\ndemo: yes\nbroker: mqtt://a\ngroup: [a, b]\nroot:\npassword: 12345\n",
            name: "agent.yaml")
        let settings = try Settings(["agent": nil, "root": .string("r")], file: scratch.path)
        #expect(try await settings.text("agent") == "007")
        #expect(try await settings.number("log-ring") == 500)
        #expect(try await settings.flag("demo"))
        #expect(try await settings.texts("broker") == ["mqtt://a"])
        #expect(try await settings.texts("group") == ["a", "b"])
        #expect(try await settings.text("password") == "12345")
        #expect(try await settings.text("root") == "r")
        #expect(try await settings.text("username") == nil)
        #expect(try await settings.number("dedupe-keys") == nil)
        let given = try Settings(
            ["broker": .stringArray(["mqtt://b"]), "log-ring": .int(7)], file: scratch.path)
        #expect(try await given.texts("broker") == ["mqtt://b"])
        #expect(try await given.number("log-ring") == 7)
        let empty = try ScratchFile("root:\nbroker:\n", name: "agent.yaml")
        let none = try Settings([:], file: empty.path)
        #expect(try await none.text("root") == nil)
        #expect(try await none.texts("broker").isEmpty)
    }

    @Test(
        arguments: [
            ("log-ring: many", "log-ring must be a whole number; found a text"),
            ("log-ring:", "log-ring must be a whole number; found nothing"),
            ("log-ring: '5'", "log-ring must be a whole number; found a text"),
            ("log-ring: yes", "log-ring must be a whole number; found true or false"),
            ("demo: 1", "demo must be true or false; found a number"),
            ("demo: [on]", "demo must be true or false; found a list"),
            ("agent: [a]", "agent must be a text; found a list"),
        ])
    func `a value of another kind is refused with its line and not its text`(
        _ line: String, _ finding: String
    )
        async throws
    {
        let scratch = try ScratchFile("root: r\n\(line)\n", name: "agent.yaml")
        let settings = try Settings([:], file: scratch.path)
        let error = await #expect(throws: CommandError.self) {
            _ = try await settings.text("agent")
            _ = try await settings.number("log-ring")
            _ = try await settings.flag("demo")
        }
        #expect(error?.exit == .usage)
        #expect(error?.description == "configuration file \(scratch.path), line 2: \(finding)")
    }

    @Test(
        arguments: [
            ("password: secret\n", "yaml"), ("'password' : secret\n", "yaml"),
            ("{root: r, password: secret}", "yaml"),
            (#"{"root":"r","password":"secret"}"#, "json"),
        ])
    func `a file with a password is one that only we can read`(_ text: String, _ form: String) throws {
        let open = try ScratchFile(text, name: "agent.\(form)", mode: 0o644)
        let path = open.path
        let error = #expect(throws: CommandError.self) { _ = try Settings([:], file: path) }
        #expect(error?.description.contains("can be read by everybody") == true)
        #expect(error?.description.contains("secret") == false)
        let closed = try ScratchFile(text, name: "agent.\(form)", mode: 0o600)
        _ = try Settings([:], file: closed.path)
    }
}
