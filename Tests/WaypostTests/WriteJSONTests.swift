import Testing

@testable import Waypost

@Suite struct `Write JSON` {
    @Test func `the text is compact, its keys sorted, its slashes bare`() {
        let value: JSONValue = ["b": [1, 2.5, .null, true], "a": "x/y\"\\\n\u{1}é"]
        #expect(value.text == #"{"a":"x/y\"\\\n\u0001é","b":[1,2.5,null,true]}"#)
    }

    @Test func `what must be escaped is, wherever it stands, and nothing else is`() throws {
        for byte in UInt8(0)..<0x80 {
            for before in 0...9 {
                for after in [0, 1, 7, 8] {
                    let text =
                        "\(String(repeating: "é", count: before % 2))\(String(repeating: "x", count: before))"
                        + String(UnicodeScalar(byte)) + String(repeating: "y", count: after)
                    let written = JSONValue.string(text).text
                    let escapes = byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
                    #expect(written.contains("\\") == escapes)
                    #expect(try JSONValue(parsing: written) == .string(text))
                }
            }
        }
    }

    @Test(arguments: [Int64.min, -1_234_567_890_123, -10, -9, -1, 0, 1, 9, 10, 99, 1_764_000_000_000, .max])
    func `an integer is written as Swift writes it`(_ number: Int64) {
        #expect(JSONValue.int(number).text == String(number))
    }

    @Test func `a number that is not finite is written as null`() {
        #expect(JSONValue.array([.double(.nan), .double(.infinity)]).text == "[null,null]")
    }

    @Test func `the writer keeps the order of the calls and puts the commas`() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", "c-1")
        writer.member("code", 0)
        writer.member("result", ["x": 1] as JSONValue)
        writer.member("hops", ["a", "b"])
        writer.key("list")
        writer.beginArray()
        writer.value(1)
        writer.beginObject()
        writer.endObject()
        writer.value(true)
        writer.endArray()
        writer.member("ms", 2.5)
        writer.endObject()
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"id":"c-1","code":0,"result":{"x":1},"hops":["a","b"],"list":[1,{},true],"ms":2.5}"#)
    }
}
