import Testing

@testable import Waypost

@Suite struct `Parse JSON` {
    static let valid: [(String, JSONValue)] = [
        ("null", .null), ("true", true), ("false", false), ("0", 0), ("-0", 0), ("12", 12),
        ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
        ("1.5e3", .double(1500)), ("1E2", .double(100)), ("1.0", .double(1)), ("1e30", .double(1e30)),
        ("9223372036854775808.0", .double(9_223_372_036_854_775_808)), ("0e-400", .double(0)),
        ("-0.0", .double(-0.0)),
        ("4.9e-324", .double(.leastNonzeroMagnitude)),
        ("\"\"", ""), ("[]", .array([])), ("{}", .object([:])),
        (" [ 1 , \"a\" , { \"k\" : null } ] ", .array([1, "a", .object(["k": .null])])),
        (#""\u00e4\n\ud83d\ude00\/""#, "ä\n😀/"), ("\"直播\"", "直播"),
    ]

    @Test(arguments: valid)
    func `a valid text gives its value`(text: String, value: JSONValue) throws {
        #expect(try JSONValue(parsing: text) == value)
    }

    @Test(arguments: [
        ("", JSONError.Reason.empty), ("  \n", .empty), ("\u{FEFF}{}", .byteOrderMark),
        (#"{"a":1,"a":2}"#, .duplicateKey("a")), (#""\ud83d""#, .loneSurrogate),
        (#""\ude00""#, .loneSurrogate),
        (#""\ud83d\u0041""#, .loneSurrogate), ("1e999", .numberOutOfRange("")),
        ("-1e400", .numberOutOfRange("")),
        ("1e-400", .numberOutOfRange("")), (#"{"a":[0,-0.0001e-400]}"#, .numberOutOfRange("a[1]")),
        ("9223372036854775808", .integerOutOfRange("")), ("-9223372036854775809", .integerOutOfRange("")),
        ("18446744073709551615", .integerOutOfRange("")),
        ("123456789012345678901234567890", .integerOutOfRange("")),
        (#"{"a":1,"params":{"ids":[1,{"id":9223372036854775808}]}}"#, .integerOutOfRange("params.ids[1].id")),
        ("[[0,18446744073709551616]]", .integerOutOfRange("[0][1]")),
    ])
    func `a text that breaks a rule is refused with the rule`(text: String, reason: JSONError.Reason) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        do throws(JSONError) {
            _ = try JSONValue(parsing: text)
        } catch {
            #expect(error.reason == reason)
        }
    }

    @Test(arguments: [
        "{", "[", "[1", "[1,", "[1,]", "{\"a\"", "{\"a\":", "{\"a\":1,}", "{a:1}", "{'a':1}", "nul", "tru",
        "01",
        "-", "+1", ".5", "1.", "1e", "0x1", "NaN", "Infinity", "\"", "\"\\", "\"\\u12", "\"\\x\"",
        "\"\u{1}\"",
        "1 2", "{}{}", "[1 2]", "{\"a\" 1}", "\u{0}", "]", "}", ",",
    ])
    func `a text outside the grammar is refused with the place`(text: String) {
        do throws(JSONError) {
            let value = try JSONValue(parsing: text)
            Issue.record("\(text) was read as \(value)")
        } catch {
            #expect(error.offset <= text.utf8.count)
            #expect(error.description.contains("byte"))
        }
    }

    /// Objects of so many members whose last key is the same as that at `repeated`, in another Unicode form.
    private static func object(_ count: Int, repeating repeated: Int? = nil) -> String {
        var keys = (0..<count).map { "é\($0)" }
        if let repeated { keys[count - 1] = "e\u{301}\(repeated)" }
        return "{" + keys.map { "\"\($0)\":[\"\($0)\"]" }.joined(separator: ",") + "}"
    }

    @Test(
        arguments: valid.map(\.0) + [
            "", "{", "{}", "{} {}", "[1", "\u{FEFF}{}", object(15), object(16), object(17), object(40),
            object(3, repeating: 0), object(16, repeating: 3), object(17, repeating: 3),
            object(17, repeating: 15), object(40, repeating: 2), object(40, repeating: 38), object(257),
        ])
    func `the members of an object are those of its value, or the same error`(text: String) {
        let whole = Result { () throws(JSONError) in try JSONValue(parsing: text) }
        let members = Result { () throws(JSONError) in
            let (members, other) = try JSONValue.members(parsing: Array(text.utf8), limits: .protocolDefaults)
            #expect(members.isEmpty || other == nil)
            return other ?? .object(Dictionary(uniqueKeysWithValues: members))
        }
        #expect(members == whole)
    }

    @Test func `an integer beyond 64 bits is named with its place`() {
        let error = #expect(throws: JSONError.self) {
            try JSONValue(parsing: #"{"params":{"id":18446744073709551615}}"#)
        }
        #expect(
            error?.description
                == "params.id, at byte 16, is an integer that does not fit in 64 bits; send it as a string")
    }

    @Test(arguments: [
        Double.greatestFiniteMagnitude, 1e16, 1e19, 18_446_744_073_709_551_616, -1e30, 0.1, -0.0,
    ])
    func `every double is written so that it is read again`(number: Double) throws {
        #expect(try JSONValue(parsing: JSONValue.double(number).text) == .double(number))
    }

    @Test func `invalid UTF-8 is refused`() {
        #expect(throws: JSONError(.notUTF8, at: 0)) { try JSONValue(parsing: [0x22, 0xC3, 0x28, 0x22]) }
        #expect(throws: JSONError(.notUTF8, at: 0)) {
            try JSONValue(parsing: [0x22, 0xED, 0xA0, 0x80, 0x22])
        }
        #expect(throws: JSONError.self) { try JSONValue(parsing: [0xFF]) }
    }

    @Test func `a hundred thousand brackets are an error and no crash`() {
        for byte in ["[", "{\"a\":"] {
            let text = String(repeating: byte, count: 100_000)
            #expect(throws: JSONError.self) { try JSONValue(parsing: text, limits: .trustedFile) }
            #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        }
    }

    @Test func `sixteen levels are read and seventeen are not`() throws {
        func nested(_ levels: Int) -> String {
            String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        }
        _ = try JSONValue(parsing: nested(16))
        #expect(throws: JSONError(.tooDeep(limit: 16), at: 16)) { try JSONValue(parsing: nested(17)) }
    }

    @Test func `the limits on keys, strings and bytes hold exactly`() throws {
        let limits = JSONLimits(maximumBytes: 40, maximumKeys: 2, maximumStringBytes: 4)
        _ = try JSONValue(parsing: #"{"a":"1234","b":2}"#, limits: limits)
        #expect(throws: JSONError.self) { try JSONValue(parsing: #"{"a":1,"b":2,"c":3}"#, limits: limits) }
        #expect(throws: JSONError(.stringTooLong(limit: 4), at: 0)) {
            try JSONValue(parsing: #""12345""#, limits: limits)
        }
        #expect(throws: JSONError(.stringTooLong(limit: 4), at: 0)) {
            try JSONValue(parsing: #""1234\u0035""#, limits: limits)
        }
        #expect(throws: JSONError(.tooLong(limit: 40), at: 40)) {
            try JSONValue(parsing: String(repeating: " ", count: 41), limits: limits)
        }
    }

    @Test func `every prefix of a text is refused without a trap`() throws {
        let text = Array(#"{"a":[1,-2.5e3,"x\u00e4\ud83d\ude00",true,null],"b":{"c":"直"}}"#.utf8)
        _ = try JSONValue(parsing: text)
        for count in 0..<text.count {
            #expect(throws: JSONError.self) { try JSONValue(parsing: text[..<count]) }
        }
    }

    @Test func `changed bytes never trap and what is read is written and read again the same`() throws {
        var generator = SystemRandomNumberGenerator()
        let seed = Array(#"{"a":[1,-2.5e3,"x\u00e4\ud83d\ude00",true,null],"b":{"c":"直"},"d":"\\\"\n"}"#.utf8)
        for _ in 0..<20_000 {
            var text = seed
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0..<text.count, using: &generator)
                text[place] = UInt8.random(in: 0...255, using: &generator)
            }
            guard let value = try? JSONValue(parsing: text) else { continue }
            #expect(try JSONValue(parsing: value.serialized()) == value)
        }
    }
}
